"""Finding the laws of a table: :func:`discover` gives a :class:`Discovery`, :func:`repair` the cells that they
accuse."""

from rowlaw.discovery.discover import discover
from rowlaw.discovery.repair import Repairs, repair
from rowlaw.discovery.result import Discovery, NearMiss

__all__ = ["Discovery", "NearMiss", "Repairs", "discover", "repair"]
