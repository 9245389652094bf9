"""The benchmark runner: agreement, bounds for those who run out of time, and memory of the whole family. No speed is asserted."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from rich.console import Console

from benchmarks import plots, runner
from benchmarks.case import Case, Comparison, Contender, Options
from benchmarks.compare import Record, agree, difference, growth, ratio
from benchmarks.measure import Measurement, measure

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

    def close(self) -> None:
        if self.child is not None:
            self.child.communicate()


def fake(label: str, bar: float | None = None, timeout: float | None = None, **params: Any) -> Contender:
    return Contender(label, f"{HERE}:Fake", params, bar, timeout)


def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, comparison: Comparison, **options: Any) -> tuple[int, str, dict[str, Any]]:
    monkeypatch.setattr(runner, "cases", lambda *_: [comparison])
    monkeypatch.setattr(plots, "draw", lambda _: None)  # matplotlib is not needed for tests
    out, written = io.StringIO(), tmp_path / "fake.json"
    quiet = Console(file=io.StringIO())
    code = runner.run("fake", Options(**{"repeat": 1, **options}), Console(file=out, width=200), quiet, written)
    return code, out.getvalue(), json.loads(written.read_text(encoding="utf-8"))


def test_same_answers_pass(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    comparison = Comparison("job", fake("rowlaw", answer={"a": 1}), (fake("peer", bar=1e9, answer={"a": 1}),), size=1_000)
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
    return {p.pid for p in psutil.Process().children(recursive=True) if p.is_running() and p.status() != psutil.STATUS_ZOMBIE}


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
    return Record(fake("x"), [Measurement(status, (w,), (w,), answers=(answer,)) for w in walls] or [Measurement(status)])


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
    assert growth({100: record(1.0), 1_000: record(12.0)}, 13.0) == "12 times the time for 10 times the rows; bar 13: met"
    assert growth({100: record(1.0), 1_000: record(14.0)}, 13.0) == "14 times the time for 10 times the rows; bar 13: missed"
    assert growth({100: record(1.0), 200: record(3.0)}, 13.0) == "3 times the time for 2 times the rows"
    assert growth({100: record(1.0)}, 13.0) is None


def test_what_a_plot_shows() -> None:
    ratio = {"value": 0.5, "min": 0.4, "max": 0.6, "bound": None}
    peers = [{"label": "peer", "ratio": ratio, "bar": {"at_most": 1.0, "met": True}}, {"label": "missing", "failed": "no module x"}]
    document = {
        "comparisons": [
            {"name": "job", "size": 1_000, "contenders": [{"median_seconds": 1.0}, *peers]},
            {"name": "job", "size": 10_000, "contenders": [{"median_seconds": 9.0}]},
            {"name": "other", "size": None, "contenders": [{"median_seconds": 2.0}]},
        ]
    }
    assert plots.dots(document) == [plots.Dot("job 1k", "peer", 0.5, 0.4, 0.6, None, 1.0)]
    assert plots.lines(document) == {"job": [(1_000, 1.0), (10_000, 9.0)]}


def test_agreement_needs_two_answers() -> None:
    assert agree(record(1.0, answer=[1]), record(1.0)) is None
    assert agree(record(1.0, answer={"a": 1, "b": 2}), record(1.0, answer={"b": 2, "a": 1})) is True
    assert difference([1, 2], [2, 3]) == ["only ours: 1", "only theirs: 3"]
    assert difference({"d": {"x": 1}}, {"d": {"x": 2}}) == ["d.x: 1 / 2"]


def test_targets_are_listed_without_measuring() -> None:
    for name, description in runner.available().items():
        assert description, name
        assert runner.cases(name, Options(rows=(1_000,))), name
