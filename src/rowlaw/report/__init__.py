"""For people: :func:`write_report` makes an HTML file that opens anywhere, :func:`explain` says all there is to say
about one rule."""

from rowlaw.report.explanation import Explanation, explain
from rowlaw.report.html import report_html, write_report
from rowlaw.report.profiling import Profile, profile

__all__ = ["Explanation", "Profile", "explain", "profile", "report_html", "write_report"]
