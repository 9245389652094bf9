"""Where a table enters: :func:`open_source`."""

from rowlaw.source.read import open_source
from rowlaw.source.source import FileSource, FrameSource, Source

__all__ = ["FileSource", "FrameSource", "Source", "open_source"]
