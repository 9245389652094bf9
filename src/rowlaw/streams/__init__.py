"""Streams: batches that keep a state current, or that pass a guard into a table of Spark. :func:`watch` starts one."""

from rowlaw.streams.query import watch

__all__ = ["watch"]
