"""Checking a table against rules: :func:`check` gives a :class:`Result`."""

from rowlaw.violations.check import check
from rowlaw.violations.result import Result, Verdict

__all__ = ["Result", "Verdict", "check"]
