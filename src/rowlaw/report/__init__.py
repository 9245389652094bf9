"""The HTML report: one file that opens anywhere, without a network. :func:`write_report` makes it."""

from rowlaw.report.html import report_html, write_report

__all__ = ["report_html", "write_report"]
