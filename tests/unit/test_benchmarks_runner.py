"""The benchmark runner: agreement, bounds for those who run out of time, and memory of the whole family. No speed is
asserted."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import psutil
import pytest
from rich.console import Console

from benchmarks import documents, plots, runner
from benchmarks.case import Case, Comparison, Contender, Fact, Options
from benchmarks.compare import Record, agree, difference, growth, ratio
from benchmarks.measure import Measurement, measure, measure_together
from benchmarks.svg import Dot, dots

HERE = "tests.unit.test_benchmarks_runner"
MIB = 2**20


class Fake(Case):
    """Sleeps, keeps a child with some memory, answers or fails as told."""

    def __init__(self, answer: Any = 1, sleep: float = 0.0, child_mib: int = 0, fail: str = "") -> None:
        self.answer, self.sleep, self.child_mib, self.fail = answer, sleep, child_mib, fail
        self.child: subprocess.Popen[bytes] | None = None

    def prepare(self) -> None:
        if self.fail == "module":
            raise ModuleNotFoundError(name="somewhere")
        if self.child_mib:
            code = f"import sys; kept = b'x' * ({self.child_mib} * 2**20); print('ready', flush=True); sys.stdin.read()"
            self.child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            assert self.child.stdout is not None
            self.child.stdout.readline()

    def run(self) -> Any:
        if self.fail == "run":
            raise RuntimeError("told to fail")
        time.sleep(self.sleep)
        return self.answer

    def data_bytes(self) -> int:
        return MIB

    def facts(self) -> list[Fact]:
        return [Fact("process", os.getpid(), "id"), Fact("peak", 512.0, "MiB", at_most=600.0)]

    def close(self) -> None:
        if self.child is not None:
            self.child.communicate()


def fake(label: str, bar: float | None = None, timeout: float | None = None, **params: Any) -> Contender:
    return Contender(label, f"{HERE}:Fake", params, bar, timeout)


def run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, comparison: Comparison, **options: Any
) -> tuple[int, str, dict[str, Any]]:
    monkeypatch.setattr(runner, "cases", lambda *_: [comparison])
    out, quiet = io.StringIO(), Console(file=io.StringIO())
    code = runner.run(["fake"], Options(**{"repeat": 1, **options}), Console(file=out, width=200), quiet, tmp_path)
    return code, out.getvalue(), json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))["fake"]


def test_same_answers_pass(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    comparison = Comparison(
        "job", fake("rowlaw", answer={"a": 1}), (fake("peer", bar=1e9, answer={"a": 1}),), size=1_000
    )
    code, text, written = run(monkeypatch, tmp_path, comparison, repeat=2)
    assert code == 0
    assert "agree" in text
    assert "bar 1e+09: met" in text
    assert "peak / encoded size, job 1k, rowlaw" in text
    ours = written["comparisons"][0]["contenders"][0]
    assert ours["peak_over_data"] == pytest.approx((ours["peak_pss_bytes"] or ours["peak_rss_bytes"]) / MIB)
    peer = written["comparisons"][0]["contenders"][1]
    assert peer["answers_agree"] is True
    assert len(peer["seconds"]) == 2
    assert written["machine"]["cores"] >= 1
    assert str(Path.cwd()) not in json.dumps(written)


def test_contenders_of_one_process_take_turns(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    comparison = Comparison("job", fake("rowlaw"), (fake("peer", bar=1e9),), calls=3, together=True)
    code, text, written = run(monkeypatch, tmp_path, comparison)
    assert code == 0
    assert "job, peer: peak: 512 MiB; bar 600: met" in text
    both = written["comparisons"][0]["contenders"]
    assert both[0]["facts"] == both[1]["facts"], "they are one process"
    assert both[1]["bar"]["met"]
    found = measure_together([fake("rowlaw"), fake("peer")], 3, [60.0, 60.0])
    assert [len(one.wall) for one in found] == [3, 3]


@pytest.mark.parametrize(("broken", "status"), [({"sleep": 60.0}, "timeout"), ({"fail": "run"}, "failed")])
def test_who_breaks_down_beside_others(broken: dict[str, Any], status: str) -> None:
    """What was measured before stands."""
    ours, peer = measure_together([fake("rowlaw"), fake("peer", **broken)], 2, [60.0, 0.5])
    assert (ours.status, len(ours.wall), ours.answers, ours.facts) == ("done", 1, (1,), ())
    assert peer.status == status


def test_an_earlier_version_is_imported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ROWLAW_CACHE", str(tmp_path))
    (tmp_path / "bench/rowlaw-0123abc/src/rowlaw").mkdir(parents=True)
    (tmp_path / "bench/rowlaw-0123abc/src/rowlaw/__init__.py").write_text("")
    found = measure(Contender("rowlaw 0.0", f"{HERE}:WhichVersion", commit="0123abc"), calls=1, timeout=60.0)
    assert found.answers == (str(tmp_path / "bench/rowlaw-0123abc/src/rowlaw/__init__.py"),), found.log


class WhichVersion(Case):
    """The answer is the file that ``import rowlaw`` finds."""

    def run(self) -> str | None:
        import rowlaw

        return rowlaw.__file__


def test_different_answers_are_loud(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    comparison = Comparison("job", fake("rowlaw", answer={"a": 1}), (fake("peer", answer={"a": 2}),))
    code, text, written = run(monkeypatch, tmp_path, comparison)
    assert code == 1
    assert "ANSWERS DIFFER" in text
    assert "a: 1 / 2" in text
    assert written["comparisons"][0]["contenders"][1]["answers_agree"] is False


def test_a_peer_out_of_time_gives_a_bound(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    comparison = Comparison("job", fake("rowlaw"), (fake("peer", timeout=1.0, sleep=60.0),))
    begin = time.monotonic()
    code, text, written = run(monkeypatch, tmp_path, comparison, timeout=55.0, repeat=3)
    assert time.monotonic() - begin < 50
    assert code == 0
    assert "> 1 s" in text
    peer = written["comparisons"][0]["contenders"][1]
    assert peer["ratio"]["bound"] == "<"
    assert peer["seconds"] == []


@pytest.mark.parametrize(("fail", "status", "expected"), [("run", "failed", 1), ("module", "missing", 0)])
def test_a_peer_that_breaks_and_one_that_is_not_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fail: str, status: str, expected: int
) -> None:
    found = measure(fake("peer", fail=fail), calls=1, timeout=30.0)
    assert found.status == status
    code, _, _ = run(monkeypatch, tmp_path, Comparison("job", fake("rowlaw"), (fake("peer", fail=fail),)))
    assert code == expected


def children() -> set[int]:
    """Processes below this one; other tests may have left a Spark session running."""
    return {
        p.pid
        for p in psutil.Process().children(recursive=True)
        if p.is_running() and p.status() != psutil.STATUS_ZOMBIE
    }


def test_children_count_and_do_not_stay() -> None:
    before = children()
    found = measure(fake("peer", child_mib=150, sleep=0.8), calls=2, timeout=30.0)
    assert found.status == "done", found.log
    assert len(found.wall) == 2
    assert all(0.8 <= wall < 20 for wall in found.wall)
    assert found.rss is not None
    assert found.rss > 150 * MIB
    if found.pss is not None:
        assert 150 * MIB < found.pss <= found.rss
    assert not children() - before


def test_a_killed_family_is_gone() -> None:
    before = children()
    found = measure(fake("peer", child_mib=1, sleep=60.0), calls=1, timeout=0.5)
    assert found.status == "timeout"
    assert not children() - before


def record(*walls: float, status: Any = "done", answer: Any = None) -> Record:
    return Record(
        fake("x"), [Measurement(status, (w,), (w,), answers=(answer,)) for w in walls] or [Measurement(status)]
    )


def test_ratio_is_of_medians_with_the_spread_of_rounds() -> None:
    found = ratio(record(1.0, 2.0, 3.0), record(4.0, 4.0, 2.0), 10.0)
    assert found is not None
    assert (found.value, found.low, found.high) == (0.5, 0.25, 1.5)
    assert found.meets(0.5)
    assert str(found) == "0.5 (0.25..1.5)"


def test_bounds() -> None:
    late, quick = record(status="timeout"), record(2.0)
    below, above = ratio(quick, late, 10.0), ratio(late, quick, 10.0)
    assert below is not None
    assert above is not None
    assert (str(below), str(above)) == ("< 0.2", "> 5")
    assert below.meets(0.2)
    assert not above.meets(100.0)
    assert ratio(late, late, 10.0) is None


def test_growth_has_a_bar_for_ten_times_the_rows() -> None:
    assert growth({100: 1.0, 1_000: 12.0}, 13.0) == "12 times the time for 10 times the rows; bar 13: met"
    assert growth({100: 1.0, 1_000: 14.0}, 13.0) == "14 times the time for 10 times the rows; bar 13: missed"
    assert growth({5: 1.0, 10: 3.0}, 13.0, "columns") == "3 times the time for 2 times the columns"
    assert growth({100: 1.0}, 13.0) is None


def contender(label: str, seconds: float | None = 1.0, **more: Any) -> dict[str, Any]:
    return {"label": label, "median_seconds": seconds, "peak_pss_bytes": 2 * MIB, **more}


def case(
    name: str, size: int | None, *contenders: dict[str, Any], axis: str = "rows", bar: float | None = None
) -> dict[str, Any]:
    return {"name": name, "size": size, "axis": axis, "growth_bar": bar, "contenders": [*contenders]}


RATIO = {"value": 0.5, "min": 0.4, "max": 0.6, "bound": None}
KEPT = {
    "target": "t",
    "comparisons": [
        case(
            "job",
            1_000,
            contender("rowlaw"),
            contender("peer", 2.0, ratio=RATIO, bar={"at_most": 1.0, "met": True}),
            contender("late", None, timeout_seconds=9.0, ratio={**RATIO, "bound": "<"}),
            {"label": "missing", "median_seconds": None, "failed": "no module x"},
        ),
        case("job", 10_000, contender("rowlaw", 9.0), bar=8.0),
        case("wide", 5, contender("rowlaw", 1.0), contender("peer", 2.0), axis="columns"),
        case("wide", 50, contender("rowlaw", 3.0), contender("peer", 8.0), axis="columns"),
        case("other", None, contender("rowlaw", 2.0)),
    ],
}


def test_what_a_plot_shows() -> None:
    late = Dot("job 1k", "late", 0.5, 0.4, 0.6, "<")
    assert plots.ratios(KEPT) == [Dot("job 1k", "peer", 0.5, 0.4, 0.6, None, 1.0), late]
    assert plots.growth([KEPT], "rows") == {"job": [(1_000, 1.0), (10_000, 9.0)]}
    assert plots.growth([KEPT], "columns") == {
        "wide, rowlaw": [(5, 1.0), (50, 3.0)],
        "wide, peer": [(5, 2.0), (50, 8.0)],
    }
    assert plots.growth([KEPT], "rows", memory=True) == {"job": [(1_000, 2.0), (10_000, 2.0)]}
    assert [(d.series, d.value, d.bound) for d in plots.memory_ratios([KEPT])] == [
        ("peer", 1.0, None),
        ("late", 1.0, "<"),
        ("peer", 1.0, None),
        ("peer", 1.0, None),
    ]


def test_pictures_are_drawn_from_the_documents_alone(tmp_path: Path) -> None:
    documents.write(KEPT, tmp_path)
    (tmp_path / "gone.svg").write_text("<svg/>")
    drawn = plots.draw(tmp_path)
    assert {path.stem for path in drawn} == {
        "t",
        "all-time",
        "all-memory",
        "growth-rows",
        "growth-columns",
        "growth-memory",
    }
    assert {path.name for path in tmp_path.glob("*.svg")} == {path.name for path in drawn}
    for path in drawn:
        root = ET.fromstring(path.read_text(encoding="utf-8"))
        width, height = map(float, root.attrib["viewBox"].split()[2:])
        for text in root.iter("{http://www.w3.org/2000/svg}text"):
            assert 0 <= float(text.attrib["x"]) <= width, path
            assert 0 <= float(text.attrib["y"]) <= height, path
    assert "<&>" in ET.fromstring(dots([Dot("<&>", '"', 2.0, 1.0, 3.0)], "x")).itertext()


def test_cases_that_a_target_no_longer_has_are_dropped() -> None:
    wanted = [
        Comparison("wide", fake("rowlaw"), (fake("new"),), size=5),
        Comparison("job", fake("rowlaw"), (fake("peer"),), size=1_000),
    ]
    again = {"target": "t", "comparisons": [case("wide", 5, contender("rowlaw", 7.0), contender("new"))]}
    found = documents.merged(again, KEPT, wanted)
    assert [(c["name"], c["size"], [one["label"] for one in c["contenders"]]) for c in found["comparisons"]] == [
        ("wide", 5, ["rowlaw", "new"]),
        ("job", 1_000, ["rowlaw", "peer"]),
    ]
    assert found["comparisons"][0]["contenders"][0]["median_seconds"] == 7.0
    assert len(documents.merged(again, KEPT)["comparisons"]) == len(KEPT["comparisons"])


def test_growth_is_told_of_every_contender() -> None:
    assert documents.growth_lines(KEPT["comparisons"]) == [
        "job, rowlaw: 9 times the time for 10 times the rows; bar 8: missed",
        "wide, rowlaw: 3 times the time for 10 times the columns",
        "wide, peer: 4 times the time for 10 times the columns",
    ]


def test_all_targets_in_one_go(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is broken is told and does not keep the rest from being measured; nothing is repeated once the time is
    over."""

    def broken() -> None:
        raise OSError("no table")

    def cases(target: str, options: Options) -> list[Comparison]:
        if target == "bad":
            raise KeyError(target)
        return [Comparison("job", fake("rowlaw"), (fake("peer"),)), Comparison("other", fake("rowlaw"), make=broken)]

    monkeypatch.setattr(runner, "cases", cases)
    out, quiet = io.StringIO(), Console(file=io.StringIO())
    code = runner.run(
        ["bad", "good", "more"], Options(repeat=3, minutes=0.0), Console(file=out, width=200), quiet, tmp_path
    )
    assert code == 1
    assert "OSError: no table" in out.getvalue()
    assert "KeyError" in out.getvalue()
    documents = json.loads((tmp_path / "summary.json").read_text())
    assert sorted(documents) == ["good", "more"]
    (comparison,) = documents["good"]["comparisons"]
    assert [len(one["seconds"]) for one in comparison["contenders"]] == [1, 1]


def test_agreement_needs_two_answers() -> None:
    assert agree(record(1.0, answer=[1]), record(1.0)) is None
    assert agree(record(1.0, answer={"a": 1, "b": 2}), record(1.0, answer={"b": 2, "a": 1})) is True
    assert difference([1, 2], [2, 3]) == ["only ours: 1", "only theirs: 3"]
    assert difference({"d": {"x": 1}}, {"d": {"x": 2}}) == ["d.x: 1 / 2"]


def test_targets_are_listed_without_measuring() -> None:
    for name, description in runner.available().items():
        assert description, name
        assert runner.cases(name, Options(rows=(1_000,))), name
