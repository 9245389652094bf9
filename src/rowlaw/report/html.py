"""One HTML file: the page, its style and script, the data, and the chart library, squeezed. Nothing is fetched, nothing
is evaluated.

What the table holds is data in a JSON block and reaches the page as text only. The content security policy allows
exactly the scripts of the page, by their hashes, and no connection at all.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import re
import zlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, cast

from rowlaw.errors import RowlawError
from rowlaw.output import write_text
from rowlaw.report.data import Found, history_of, of_result, of_rules, profile_of
from rowlaw.report.limits import MOST_BYTES, Limits
from rowlaw.report.profiling import Profile
from rowlaw.rules import RuleSet
from rowlaw.violations import Result

if TYPE_CHECKING:
    from rowlaw.maintain import History

_ROUNDS = 12  # of making the lists shorter until the file fits

# How the interpreter of Vega's expressions, which is a module, becomes part of one script.
_IMPORT = re.compile(r"^import \{([^}]*)\} from 'vega-util';$", re.MULTILINE)
_EXPORT = re.compile(r"^export \{ expression as expressionInterpreter \};$", re.MULTILINE)


def report_html(
    found: Result | RuleSet,
    *,
    history: History | None = None,
    profile: Profile | None = None,
    title: str = "table",
    command: str | None = None,
    most_bytes: int = MOST_BYTES,
) -> str:
    """The report as text; see :func:`write_report`."""
    facts: dict[str, Any] = {"title": title, "command": command}
    limits = Limits()
    checked = Found.of(found) if isinstance(found, Result) else None
    for _ in range(_ROUNDS):
        document = (
            of_result(checked, limits, facts)
            if checked is not None
            else of_rules(cast("RuleSet", found), limits, facts)
        )
        document["history"] = history_of(history, limits) if history is not None else None
        if profile is not None:
            document["profile"] = profile_of(profile, limits)
        page = _page(document, title)
        if len(page.encode()) <= most_bytes:
            return page
        limits = limits.smaller()
    raise RowlawError("BAD_OPTION", option="most_bytes", value=most_bytes, problem="no report is that small")


def write_report(
    path: str | os.PathLike[str],
    found: Result | RuleSet,
    *,
    history: History | None = None,
    profile: Profile | None = None,
    title: str = "table",
    command: str | None = None,
) -> None:
    """Write a report: one HTML file of at most 2 MB that needs no network.

    Parameters
    ----------
    found
        What :func:`rowlaw.check` found, or rules: those of :func:`rowlaw.discover` come with their scores and near
        misses.
    history
        Of a :class:`rowlaw.Laws`: ``laws.history`` adds when rules were born and retired.
    profile
        Of the table (:func:`rowlaw.profile`), for a report of rules; a check knows its table.
    title
        What the table is called.
    command
        The command that made the report, for those who want to repeat it.

    Examples
    --------
    >>> import tempfile, pyarrow as pa, rowlaw
    >>> table = pa.table({"zip": ["07030", "07030"], "city": ["Hoboken", "Hobken"]})
    >>> path = f"{tempfile.mkdtemp()}/report.html"
    >>> write_report(path, rowlaw.check(table, "fd (zip) -> city", progress=False), title="cities")
    >>> os.path.getsize(path) < 2_000_000
    True
    """
    text = report_html(found, history=history, profile=profile, title=title, command=command)
    write_text(path, text)


def _page(document: dict[str, Any], title: str) -> str:
    charts, squeezed = _charts()
    script = "\n".join(_file("page", name) for name in ("dom.js", "charts.js", "graph.js", "page.js"))
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src {_hash(script)} {_hash(charts)}",
            "style-src 'unsafe-inline'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    parts = {
        "policy": html.escape(policy),
        "title": html.escape(" ".join(title.split())),
        "style": _file("page", "page.css"),
        "data": _json(document),
        "charts": squeezed,
        "script": script,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _file("page", "page.html"))


def _json(document: dict[str, Any]) -> str:
    """JSON that ends no script block, whatever it holds."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for c in "<>&\u2028\u2029":
        text = text.replace(c, f"\\u{ord(c):04x}")
    return text.encode("utf-8", "replace").decode()  # half of a surrogate pair is nothing that a file could hold


def _hash(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


@cache
def _charts() -> tuple[str, str]:
    """The chart library as one script, and squeezed: the browser unpacks it when the first chart is drawn."""
    interpreter = _IMPORT.sub(r"const {\1} = vega;", _file("vendor", "vega-interpreter.js"))
    interpreter = _EXPORT.sub("window.vegaInterpreter = expression;", interpreter)
    script = "\n".join(
        [_file("vendor", "vega.min.js"), _file("vendor", "vega-lite.min.js"), f"(() => {{{interpreter}}})();"]
    )
    return script, base64.b64encode(zlib.compress(script.encode(), 9)).decode()


@cache
def _file(folder: str, name: str) -> str:
    return (files("rowlaw.report") / folder / name).read_text("utf-8")
