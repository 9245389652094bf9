"""The page about speed shows what was measured, before and now."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def speed():
    spec = importlib.util.spec_from_file_location("speed", ROOT / "docs/hooks/speed.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def document(*cases):
    comparisons = [{"name": name, "size": size, "contenders": [{"seconds": seconds}]} for name, size, seconds in cases]
    machine = {"cores": 2, "cpu": "Z80", "python": "3.12"}
    return {"when": "2024-01-01", "machine": machine, "comparisons": comparisons}


def test_the_least_of_all_rounds_is_shown(speed, tmp_path):
    assert speed.cold(tmp_path) == speed.NOTHING
    now = document(("check", 30_000, [1.5, 1.25]), ("new", None, [0.5]), ("failed", None, []))
    before = document(("check", 30_000, [4.0, 3.0]))
    (tmp_path / "summary.json").write_text(json.dumps({"cold": now, "cold before": before}))
    shown = speed.cold(tmp_path)
    assert "| check | 30,000 | 3.00 s | 1.25 s |" in shown
    assert "| new |  |  | 0.50 s |" in shown
    assert "failed" not in shown


def test_the_page_has_figures_of_the_results_that_are_kept(speed):
    page = speed.on_page_markdown((ROOT / "docs/speed.md").read_text(encoding="utf-8"))
    assert page.count("<!-- /cold -->") == 1  # written by python -m benchmarks.pages, and left as it is
    assert "| rowlaw check, three rules | 30,000 | " in page
