"""Finding the laws of a table: :func:`discover` gives a :class:`Discovery`."""

from rowlaw.discovery.discover import Discovery, NearMiss, discover

__all__ = ["Discovery", "NearMiss", "discover"]
