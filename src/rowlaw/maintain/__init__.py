"""Laws that stay current while rows come and go: :class:`Laws`, and :func:`watch` for streams."""

from rowlaw.maintain.history import Change, Event, History
from rowlaw.maintain.state import Laws
from rowlaw.maintain.stream import watch
from rowlaw.storage.table import GrowingTable

__all__ = ["Change", "Event", "GrowingTable", "History", "Laws", "watch"]
