"""Laws that stay current while rows come and go: :class:`Laws`, and :func:`watch` for streams."""

from rowlaw.maintain.change import Change
from rowlaw.maintain.state import Laws
from rowlaw.maintain.stream import watch
from rowlaw.storage.history import Event, History
from rowlaw.storage.table import GrowingTable

__all__ = ["Change", "Event", "GrowingTable", "History", "Laws", "watch"]
