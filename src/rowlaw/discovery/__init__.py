"""Finding the laws of a table: :func:`discover` gives a :class:`Discovery`."""

from rowlaw.discovery.discover import discover
from rowlaw.discovery.result import Discovery, NearMiss

__all__ = ["Discovery", "NearMiss", "discover"]
