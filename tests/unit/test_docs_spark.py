"""The figures on the page about Spark: made from results, and worked out as the page says."""

import importlib.util
import json
import re

import pytest

from benchmarks.case import Options
from benchmarks.targets import cluster as target
from tests.pages import ROOT

spec = importlib.util.spec_from_file_location("cluster_hook", ROOT / "docs/hooks/cluster.py")
hook = importlib.util.module_from_spec(spec)
spec.loader.exec_module(hook)

ANSWERS = {
    "encode": {"rows": 10**6, "columns": 15, "code_bytes": 60 * 10**6, "value_bytes": 10**7},
    "look for counterexamples": {"rules": 30, "broken": 29},
    "validate functional dependencies": {"laws": 40, "broken": 20},
}


def case(name, size, contenders):
    made = [
        {
            "label": label,
            "median_seconds": seconds,
            "cpu_seconds": [cpu],
            "peak_pss_bytes": peak,
            "answer": ANSWERS.get(name),
        }
        for label, (seconds, cpu, peak) in contenders.items()
    ]
    return {"name": name, "size": size, "contenders": made}


@pytest.fixture
def results(tmp_path):
    seconds = {
        hook.TWO_WORKERS: (1.2, 3.0, 0),
        hook.ONE_WORKER: (2.0, 2.4, 0),
        hook.TWO_THREADS: (0.6, 1.1, 0),
        hook.ONE_THREAD: (1.0, 1.2, 0),
    }
    measured = [case(c.name, c.size, seconds) for c in target.CASES(Options())]
    machine = {"cores": 2, "cpu": "a processor", "memory_gib": 24, "load_before": 0.1}
    grown = [case("growth a key", size, {"rowlaw": (size / 10**6, 1.0, 50 * size)}) for size in (10**6, 10**7)]
    documents = {
        "cluster": {"when": "2026-11-16", "machine": machine, "comparisons": measured},
        "check": {"comparisons": grown},
    }
    (tmp_path / "summary.json").write_text(json.dumps(documents))
    return tmp_path


def test_a_line_for_each_phase(results):
    lines = hook.phases(results).splitlines()
    assert "| encode | 1,000,000 | 1.00 s | 0.60 s | 2.00 s | 1.20 s | 0.60 | 2.00 |" in lines
    assert len([line for line in lines if line.startswith("|")]) == 2 + len(target.PHASES)


def test_the_estimate(results):
    text = hook.estimate(results)
    assert "| encoded table | 60 bytes a row, measured |  | 60 GB |" in text
    assert "2.40 CPU s for a million rows" in text
    assert "| 40 min | 38 s to 160 s |".replace("160 s", "3 min") in text
    assert "2.4 CPU s measured, 10.0 times as long" in text
    assert "50 bytes a row" in text


def test_nothing_measured_yet(tmp_path, results):
    empty = tmp_path / "empty"
    empty.mkdir()
    assert hook.phases(empty) == hook.estimate(empty) == hook.NOTHING
    (results / "summary.json").write_text(json.dumps({"cluster": {"comparisons": []}}))
    assert hook.estimate(results) == hook.NOTHING


def test_the_page_has_the_figures_of_the_results():
    page = (ROOT / "docs/spark.md").read_text()
    assert all(re.search(f"^<!-- /?{name} -->$", page, re.MULTILINE) for name in ("cluster", "billion"))
    assert hook.on_page_markdown(page) == page, "new results: run python docs/hooks/cluster.py"
