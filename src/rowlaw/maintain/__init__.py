"""Laws that stay current while rows come and go: :class:`Laws`."""

from rowlaw.maintain.change import Change
from rowlaw.maintain.state import Laws
from rowlaw.storage.history import Event, History
from rowlaw.storage.table import GrowingTable

__all__ = ["Change", "Event", "GrowingTable", "History", "Laws"]
