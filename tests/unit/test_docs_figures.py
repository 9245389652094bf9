"""The page of benchmarks: what it says of results, of losses above all, and that it stands when there are none."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.pages import ROOT


@pytest.fixture(scope="module")
def figures() -> ModuleType:
    spec = importlib.util.spec_from_file_location("figures", ROOT / "docs/hooks/figures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def peer(label: str, value: float | None, bound: str | None = None, **more: Any) -> dict[str, Any]:
    ratio = {} if value is None else {"ratio": {"value": value, "bound": bound}}
    return {"label": label, "median_seconds": 2.0, "answers_agree": True, **ratio, **more}


def write(folder: Path, *peers: dict[str, Any], growth: tuple[str, ...] = (), **ours: Any) -> None:
    machine = {"cores": 2, "cpu": "Z80", "memory_gib": 1, "python": "3.12", "packages": {"rowlaw": "0.1.0"}}
    one = {"label": "rowlaw", "median_seconds": 1.0, "seconds": [1.0], **ours}
    case = {"name": "keys", "size": 15, "axis": "columns", "contenders": [one, *peers]}
    found = {
        "target": "key",
        "when": "2024-01-01",
        "repeat": 3,
        "machine": machine,
        "comparisons": [case],
        "growth": growth,
    }
    (folder / "summary.json").write_text(json.dumps({"key": found}))


def missed(at_most: float) -> dict[str, Any]:
    return {"at_most": at_most, "met": False}


def test_errors_that_were_found_are_listed(figures: ModuleType, tmp_path: Path) -> None:
    shares = {"precision": 0.5, "recall": 0.25, "f1": 0.3333}
    answer = {"laws": 3, "cells": {"wrong": 4, "found": 2, "right": 1, **shares}, "repair": {"suggested": 2, **shares}}
    write(tmp_path, answer=answer)
    page = figures.figures(tmp_path)
    assert "| keys | cells | 4 | 2 | 1 | 0.500 | 0.250 | 0.333 |" in page
    assert "| keys | repair" not in page


def test_who_is_faster_is_listed(figures: ModuleType, tmp_path: Path) -> None:
    write(tmp_path, peer("quick", 4.0), peer("slow", 0.5), peer("late", 2.0, "<"), peer("rowlaw, otherwise", 3.0))
    told = figures.losses(tmp_path)
    assert "| key: keys, 15 columns | 1 s | quick | 2 s | 4 |" in told
    assert "rowlaw, otherwise" in told
    assert "slow" not in told
    assert "late" not in told, "a bound below which we are is no loss"
    assert "| [key](#key) | 1 | 2 | 1 | 0 of 0 | 0 |" in figures.summary(tmp_path), (
        "our own other way is not another tool"
    )


def test_our_own_other_way_may_be_faster_up_to_the_bar(figures: ModuleType, tmp_path: Path) -> None:
    write(tmp_path, peer("rowlaw, one rule", 2.0, bar={"at_most": 3.0, "met": True}))
    assert figures.losses(tmp_path) == "Nowhere in these cases."
    write(tmp_path, peer("rowlaw, one rule", 4.0, bar=missed(3.0)))
    assert "rowlaw, one rule" in figures.losses(tmp_path)


def test_missed_bars_are_listed(figures: ModuleType, tmp_path: Path) -> None:
    lines = (
        "keys: 12 times the time for 10 times the rows; bar 13: met",
        "fds: 20 times the time for 10 times the rows; bar 13: missed",
    )
    write(tmp_path, peer("slow", 0.5, bar=missed(0.1)), peer("late", 0.2, "<", bar=missed(0.1)), growth=lines)
    told = figures.losses(tmp_path)
    assert "keys, 15 columns: 0.5 of the time of slow; wanted: 0.1" in told
    assert "< 0.2 of the time of late, which was not waited for long enough to tell" in told
    assert "- key: fds: 20 times" in told
    assert "12 times" not in told
    assert "| 1 of 4 |" in figures.summary(tmp_path)


def test_failures_and_wrong_answers_are_listed(figures: ModuleType, tmp_path: Path) -> None:
    write(
        tmp_path,
        peer("wrong", 0.5, answers_agree=False),
        {"label": "broken", "median_seconds": None, "failed": "exit code 1"},
    )
    told = figures.losses(tmp_path)
    assert "wrong gives another answer" in told
    assert "broken: exit code 1" in told


def test_memory_is_told_of_large_tables(figures: ModuleType, tmp_path: Path) -> None:
    write(tmp_path, data_bytes=100 * 2**20, peak_pss_bytes=250 * 2**20, peak_over_data=2.5)
    assert "| key: keys, 15 columns | 100 MiB | 250 MiB | 2.5 |" in figures.memory(tmp_path)


def test_memory_of_indexes_is_told(figures: ModuleType, tmp_path: Path) -> None:
    write(
        tmp_path,
        data_bytes=2**20,
        peak_pss_bytes=2**21,
        peak_over_data=2.0,
        answer={"rules": 3, "index_bytes": 5 * 2**20},
    )
    assert "| key: keys, 15 columns | 1 MiB | 5 MiB | 5 |" in figures.memory(tmp_path)


def test_errors_that_were_found_are_told(figures: ModuleType, tmp_path: Path) -> None:
    write(
        tmp_path,
        answer={
            "cells": {"wrong": 3, "found": 4, "right": 2, "precision": 0.5, "recall": 0.6667, "f1": 0.5714},
            "rules": 7,
        },
    )
    assert "| keys | cells | 3 | 4 | 2 | 0.500 | 0.667 | 0.571 |" in figures.figures(tmp_path)


def test_pairs_per_second_are_told(figures: ModuleType, tmp_path: Path) -> None:
    late = {"label": "late", "median_seconds": None, "timeout_seconds": 10.0}
    write(tmp_path, peer("slow", 0.5), late, answer={"pairs": 3_000_000, "checksum": 7})
    assert "| keys | 3,000,000 | 3 (rowlaw), 1.5 (slow), < 0.3 (late) |" in figures.figures(tmp_path)


def test_pictures_stand_in_the_page(figures: ModuleType, tmp_path: Path) -> None:
    write(tmp_path, peer("slow", 0.5))
    (tmp_path / "key.svg").write_text("<svg>\n<text/>\n</svg>\n")
    assert "<svg><text/></svg>" in figures.figures(tmp_path)


def test_every_part_stands_without_results(figures: ModuleType, tmp_path: Path) -> None:
    for part in figures.MARKS.values():
        assert part(tmp_path) == figures.NOTHING
    text = (ROOT / "docs/benchmarks.md").read_text(encoding="utf-8")
    assert figures.on_page_markdown(text) == text  # python -m benchmarks.pages has written every part
    bare = "\n".join(f"<!-- {name} -->" for name in figures.MARKS)
    assert "<!--" not in figures.on_page_markdown(bare)
