"""Where a table enters: :func:`open_source`."""

from rowlaw.source.read import READING, open_source
from rowlaw.source.source import FileSource, FrameSource, Source

__all__ = ["READING", "FileSource", "FrameSource", "Source", "open_source"]
