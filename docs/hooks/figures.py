"""Puts the measured figures into the page of benchmarks: they are read from benchmarks/results, and none is typed by
hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
OURS = "rowlaw"  # how the labels of our own contenders begin
NOTHING = "No results have been recorded yet."
MIB = 2**20
LARGE = 32 * MIB  # of a smaller table the peak is the interpreter's, not the table's


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by MkDocs for each page: a mark is a comment with the name of what stands in its place."""
    for name, part in MARKS.items():
        mark = f"<!-- {name} -->"
        if mark in markdown and f"<!-- /{name} -->" not in markdown:  # python -m benchmarks.pages has written it
            markdown = markdown.replace(mark, part(RESULTS))
    return markdown


def figures(folder: Path = RESULTS) -> str:
    """A section for each file of results."""
    return "\n\n".join(_section(found, folder) for found in _read(folder)) or NOTHING


def summary(folder: Path = RESULTS) -> str:
    """A line for each target, and all ratios in one picture."""
    rows = []
    for found in _read(folder):
        tools = [peer for _, _, peer in _against(found) if "ratio" in peer and not peer["label"].startswith(OURS)]
        slower = sum(_is_slower(peer) for peer in tools)
        bars = [peer["bar"]["met"] for _, _, peer in _against(found) if "bar" in peer] + [
            _met(line) for line in _barred_growth(found)
        ]
        differ = sum(peer.get("answers_agree") is False for _, _, peer in _against(found))
        minutes = f"{found['seconds'] / 60:.0f}" if "seconds" in found else ""
        link = f"[{found['target']}](#{found['target']})"
        rows.append(
            [
                link,
                str(len(found["comparisons"])),
                str(len(tools) - slower),
                str(slower),
                f"{sum(bars)} of {len(bars)}",
                str(differ),
                minutes,
            ]
        )
    if not rows:
        return NOTHING
    table = _table(
        ["target", "cases", "faster than another tool", "slower", "bars met", "answers that differ", "minutes"], rows
    )
    return "\n\n".join(
        part for part in (table, _picture(folder, "all-time", "Our time divided by another tool's, all cases")) if part
    )


def losses(folder: Path = RESULTS) -> str:
    """Every case in which another tool is faster, a bar is missed, or something is wrong."""
    slower, missed, wrong = [], [], []
    for found in _read(folder):
        missed += [f"{found['target']}: {line}" for line in _barred_growth(found) if not _met(line)]
        for case, ours, peer in _against(found):
            where = f"{found['target']}: {case}"
            line = [where, _time(ours), peer["label"], _time(peer), _ratio(peer)]
            bar = peer.get("bar", {})
            if _is_slower(peer) and not (peer["label"].startswith(OURS) and bar.get("met")):
                slower.append((peer["ratio"]["value"], line))
            elif bar.get("met") is False:
                unsure = ", which was not waited for long enough to tell" if peer["ratio"].get("bound") == "<" else ""
                missed.append(
                    f"{where}: {_ratio(peer)} of the time of {peer['label']}{unsure}; wanted: {bar['at_most']:g}"
                )
            if peer.get("answers_agree") is False:
                wrong.append(f"{where}: {peer['label']} gives another answer")
        wrong += [f"{found['target']}: {case}, {one['label']}: {one['failed']}" for case, one in _failed(found)]
    slower.sort(key=lambda entry: -entry[0])
    table = (
        _table(["case", "rowlaw", "faster", "its time", "rowlaw / faster"], [line for _, line in slower])
        if slower
        else ""
    )
    parts = (
        ("", table),
        ("Missed bars, though not slower than another tool:", _list(missed)),
        ("Different answers and failures:", _list(wrong)),
    )
    told = [f"{title}\n\n{text}".strip() for title, text in parts if text]
    return "\n\n".join(told) or ("Nowhere in these cases." if _read(folder) else NOTHING)


def growth(folder: Path = RESULTS) -> str:
    """Pictures of how time grows."""
    titles = {
        "growth-rows": "Growth with rows",
        "growth-columns": "Growth with columns",
        "growth-rules": "Growth with rules checked together",
    }
    return "\n\n".join(part for name, title in titles.items() if (part := _picture(folder, name, title))) or NOTHING


def memory(folder: Path = RESULTS) -> str:
    """Pictures of memory, and what we take as a multiple of the data."""
    titles = {
        "all-memory": "Our peak of memory divided by another tool's, all cases",
        "growth-memory": "Growth of our peak of memory with rows",
    }
    rows = [
        [
            f"{found['target']}: {_title(comparison)}",
            f"{one['data_bytes'] / MIB:,.0f} MiB",
            _memory(one),
            _number(one["peak_over_data"]),
        ]
        for found in _read(folder)
        for comparison in found["comparisons"]
        for one in comparison["contenders"][:1]
        if one.get("data_bytes", 0) >= LARGE
    ]
    table = _table(["case", "encoded table", "peak", "peak / table"], rows) if rows else ""
    parts = (*(_picture(folder, *name) for name in titles.items()), table, _indexes(folder))
    return "\n\n".join(part for part in parts if part) or NOTHING


def _indexes(folder: Path) -> str:
    """What the indexes of states take, with their copy of the table."""
    rows = []
    for found in _read(folder):
        for comparison in found["comparisons"]:
            one = comparison["contenders"][0]
            answer = one.get("answer")
            if isinstance(answer, dict) and "index_bytes" in answer and one.get("data_bytes"):
                indexes, data = answer["index_bytes"], one["data_bytes"]
                sizes = [f"{size / MIB:,.0f} MiB" for size in (data, indexes)]
                rows.append([f"{found['target']}: {_title(comparison)}", *sizes, _number(indexes / data)])
    return _table(["state", "encoded table", "indexes", "indexes / table"], rows) if rows else ""


def dirty(folder: Path = RESULTS) -> str:
    """How many of the wrong cells and rows of dirty tables are found."""
    found = _documents(folder).get("dirty")
    if found is None:
        return NOTHING
    rows = []
    for comparison in found["comparisons"]:
        if answer := comparison["contenders"][0].get("answer"):
            cells, near, lines = answer["cells"], answer["columns with suspects"], answer["rows"]
            shares = [*_shares(cells), f"{near['recall']:.2f}", *_shares(lines)]
            repaired = [*_shares(answer["repair"]), f"{answer['added']:.2f}"] if "repair" in answer else [""] * 4
            rows.append([comparison["name"], f"{cells['wrong']:,}", f"{cells['found']:,}", *shares, *repaired])
    of_cells = ["wrong cells", "found", "precision", "recall", "F1", "recall in their columns"]
    head = ["", *of_cells, "rows: precision", "recall", "F1", "repair: precision", "recall", "F1", "errors added"]
    return f"{_table(head, rows)}\n\n`make bench T=dirty`, {found['when']}."


def reading(folder: Path = RESULTS) -> str:
    """How many documented laws are among the first 20 rules, and what the first rules catch."""
    found = _documents(folder).get("reading")
    if found is None:
        return NOTHING
    answers = {c["name"]: a for c in found["comparisons"] if (a := c["contenders"][0].get("answer"))}
    rows = [
        [
            name,
            a["half"],
            f"{a['rules']:,}",
            f"{a['in the first 20']} of {a['laws']}",
            f"{a['first 10']:.2f}",
            f"{a['first 20']:.2f}",
            ", ".join(f"`{law}`" for law in a["missing"]),
        ]
        for name, a in answers.items()
    ]
    said = []
    for half in dict.fromkeys(a["half"] for a in answers.values()):
        laws, listed = (
            sum(a[what] for a in answers.values() if a["half"] == half) for what in ("laws", "in the first 20")
        )
        said.append(f"{half.capitalize()}: {listed} of {laws} laws ({listed / laws:.2f}).")
    shares = [a["first 10"] for a in answers.values()]
    said.append(
        f"The first 10 rules catch {median(shares):.2f} of what all rules catch (median), {min(shares):.2f} at least."
    )
    head = ["table", "half", "rules", "laws in the first 20", "first 10 catch", "first 20 catch", "missing"]
    return f"{_table(head, rows)}\n\n{' '.join(said)} `make bench T=reading`, {found['when']}."


def _shares(measured: dict[str, float]) -> list[str]:
    return [f"{measured[name]:.2f}" for name in ("precision", "recall", "f1")]


def torture(folder: Path = RESULTS) -> str:
    """What `make torture` tried, and how long it took."""
    found = _tortured(folder)
    if found is None:
        return NOTHING
    parts = found["parts"]
    failed = sum(len(part["failures"]) for part in parts)
    head = (
        f"{sum(part['cases'] for part in parts):,} cases in {found['seconds'] / 60:.1f} minutes, {found['when']}; "
        f"rowlaw {found['version']}, Python {found['python']}, {found['cores']} cores. Failures: {failed:,}."
    )
    rows = [
        [
            part["name"],
            part["what"],
            f"{part['cases']:,}",
            f"{part['seconds']:.0f} s",
            str(len(part["failures"])),
            _facts(part["facts"]),
        ]
        for part in parts
    ]
    failures = [f"- {part['name']}: `{failure[:300]}`" for part in parts for failure in part["failures"]]
    table = _table(["part", "what", "cases", "time", "failures", "in detail"], rows)
    timed = next((part["facts"]["commands"] for part in parts if part["name"] == "shapes"), {})
    bounds = _table(
        ["table and command", "time", "memory"],
        [[n, f"{b['seconds']:.0f} s", f"{b['megabytes']:,} MB"] for n, b in timed.items()],
    )
    return "\n\n".join([head, table, *(["\n".join(failures)] if failures else []), *([bounds] if timed else [])])


def torture_found(folder: Path = RESULTS) -> str:
    """What the torture has found so far, how it was mended, and the test that keeps it."""
    found = _tortured(folder)
    if found is None:
        return NOTHING
    return _table(
        ["found", "mended", "kept in"], [[one["found"], one["mended"], f"`{one['kept']}`"] for one in found["found"]]
    )


def _tortured(folder: Path) -> dict[str, Any] | None:
    return _documents(folder).get("torture")


def _facts(facts: dict[str, Any]) -> str:
    def told(value: Any) -> str:
        return f"{value:,}" if isinstance(value, int) else ", ".join(value) if isinstance(value, list) else str(value)

    return "; ".join(
        f"{name.replace('_', ' ')}: {told(value)}" for name, value in facts.items() if not isinstance(value, dict)
    )


MARKS: dict[str, Callable[[Path], str]] = {
    "summary": summary,
    "losses": losses,
    "growth": growth,
    "memory": memory,
    "figures": figures,
    "dirty": dirty,
    "reading": reading,
    "torture": torture,
    "found": torture_found,
}


def _read(folder: Path) -> list[dict[str, Any]]:
    """What was compared; what was tortured is in the same file, and an older document to compare with."""
    return [one for name, one in _documents(folder).items() if name == one.get("target")]


def _documents(folder: Path) -> dict[str, dict[str, Any]]:
    """The documents of all targets, by name."""
    path = folder / "summary.json"
    found: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def _section(found: dict[str, Any], folder: Path) -> str:
    machine = found["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    head = (
        f"### {found['target']}\n\n`make bench T={found['target']}`, {found['when']}; {_rounds(found)}; "
        f"{machine['cores']} cores ({machine['cpu']}), {machine['memory_gib']} GiB, Python "
        f"{machine['python']}; {versions}."
    )
    rows = [line for comparison in found["comparisons"] for line in _lines(comparison)]
    table = _table(
        ["case", "size", "rowlaw", "peer", "its time", "rowlaw / peer", "answers", "memory", "its memory"], rows
    )
    picture = _picture(folder, found["target"], f"{found['target']}: our time divided by that of peers")
    return "\n\n".join(
        part
        for part in (head, picture, table, _pairs_listed(found), _errors_found(found), _list(found.get("growth", ())))
        if part
    )


def _pairs_listed(found: dict[str, Any]) -> str:
    """Pairs per second, for cases whose answer has a checksum of all pairs."""
    rows = []
    for comparison in found["comparisons"]:
        answer = comparison["contenders"][0].get("answer")
        if isinstance(answer, dict) and "checksum" in answer:
            speeds = [f"{_millions(answer['pairs'], one)} ({one['label']})" for one in comparison["contenders"]]
            rows.append([comparison["name"], f"{answer['pairs']:,}", ", ".join(speeds)])
    return _table(["case", "pairs", "million pairs per second"], rows) if rows else ""


def _millions(pairs: int, contender: dict[str, Any]) -> str:
    seconds = contender.get("median_seconds")
    if seconds:
        return _number(pairs / seconds / 1e6)
    return f"< {_number(pairs / contender['timeout_seconds'] / 1e6)}" if "timeout_seconds" in contender else "no result"


def _errors_found(found: dict[str, Any]) -> str:
    """Precision and recall, for cases whose answer is how many errors were found."""
    rows = []
    for comparison in found["comparisons"]:
        answer = comparison["contenders"][0].get("answer")
        for what, shares in answer.items() if isinstance(answer, dict) else ():
            if isinstance(shares, dict) and "wrong" in shares:  # the others are of suggestions, on a page of their own
                counts = [f"{shares[name]:,}" for name in ("wrong", "found", "right")]
                rows.append(
                    [
                        comparison["name"],
                        what,
                        *counts,
                        *(f"{shares[name]:.3f}" for name in ("precision", "recall", "f1")),
                    ]
                )
    return _table(["case", "of", "wrong", "found", "of them wrong", "precision", "recall", "F1"], rows) if rows else ""


def _rounds(found: dict[str, Any]) -> str:
    numbers = {
        len(one["seconds"])
        for comparison in found["comparisons"]
        for one in comparison["contenders"]
        if one.get("seconds")
    }
    low, high = (min(numbers), max(numbers)) if numbers else (found["repeat"], found["repeat"])
    return (
        f"median of {low} to {high} rounds" if low < high else "one round" if high == 1 else f"median of {high} rounds"
    )


def _lines(comparison: dict[str, Any]) -> list[list[str]]:
    ours, *peers = comparison["contenders"]
    start = [comparison["name"], _size(comparison), _time(ours)]
    if not peers:
        return [[*start, "", "", "", "", _memory(ours), ""]]
    return [
        [*start, peer["label"], _time(peer), _ratio(peer), _agreed(peer), _memory(ours), _memory(peer)]
        for peer in peers
    ]


def _against(found: dict[str, Any]) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Each case with us and a peer."""
    return [(_title(c), c["contenders"][0], peer) for c in found["comparisons"] for peer in c["contenders"][1:]]


def _failed(found: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(_title(c), one) for c in found["comparisons"] for one in c["contenders"] if "failed" in one]


def _is_slower(peer: dict[str, Any]) -> bool:
    ratio = peer.get("ratio") or {"value": 0.0}
    return ratio.get("bound") == ">" or (ratio["value"] > 1 and ratio.get("bound") != "<")


def _barred_growth(found: dict[str, Any]) -> list[str]:
    return [line for line in found.get("growth", ()) if "; bar " in line]


def _met(line: str) -> bool:
    return line.endswith("met")


def _title(comparison: dict[str, Any]) -> str:
    return ", ".join(part for part in (comparison["name"], _size(comparison, "rows")) if part)


def _size(comparison: dict[str, Any], rows: str = "") -> str:
    size = comparison.get("size")
    if not isinstance(size, int):
        return ""
    axis = comparison.get("axis", "rows")
    return f"{size:,} {rows if axis == 'rows' else axis}".strip()


def _time(contender: dict[str, Any]) -> str:
    if "timeout_seconds" in contender:
        return f"more than {contender['timeout_seconds']:g} s"
    seconds = contender.get("median_seconds")
    if seconds is None:
        return str(contender.get("failed", "no result"))
    return f"{seconds:.3g} s" if seconds >= 0.1 else f"{1_000 * seconds:.2g} ms"


def _ratio(peer: dict[str, Any]) -> str:
    ratio = peer.get("ratio")
    return "" if not ratio else f"{ratio.get('bound') or ''} {_number(ratio['value'])}".strip()


def _number(value: float) -> str:
    return f"{value:.2g}" if value < 100 else f"{value:,.0f}"


def _agreed(peer: dict[str, Any]) -> str:
    return {True: "agree", False: "differ", None: "not compared"}[peer.get("answers_agree")]


def _memory(contender: dict[str, Any]) -> str:
    peak = contender.get("peak_pss_bytes") or contender.get("peak_rss_bytes")
    return f"{peak / MIB:,.0f} MiB" if peak else ""


def _picture(folder: Path, name: str, title: str) -> str:
    """A picture that the benchmarks have drawn, in the page itself so that its text has the page's colour; nothing when
    there is none."""
    path = folder / f"{name}.svg"
    if not path.exists():
        return ""
    drawing = path.read_text(encoding="utf-8").replace("\n", "")
    return f'<figure role="img" aria-label="{title}">{drawing}<figcaption>{title}</figcaption></figure>'


def _table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (names, ["---"] * len(names), *rows))


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
