"""A deadline that passes at any look: every phase returns without beginning anything new, and what it returns is
proven.

No test asserts a time. Deadlines count how often they are looked at, and pass at the n-th look.
"""

import importlib
import pickle
import threading
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

import rowlaw
from rowlaw import deadline
from rowlaw.deadline import Deadline
from rowlaw.discovery import approximate, denial, dependencies, listing, together
from rowlaw.engine.local import contexts, neighbours, tasks
from rowlaw.engine.local.engine import LocalEngine
from rowlaw.evidence import sample, tiles
from rowlaw.evidence.agreeing import agreeing_pairs
from rowlaw.evidence.slots import Slots
from rowlaw.evidence.tiles import all_pairs
from rowlaw.kernels import differences as difference_kernels
from rowlaw.predicates import SpaceOptions
from rowlaw.relation import encode
from rowlaw.rules import parse
from rowlaw.search import extend
from rowlaw.search.hypergraph import Hypergraph
from rowlaw.search.search import minimal_hitting_sets, refine
from rowlaw.source import open_source
from rowlaw.spark.jobs import DriverThreads, finished
from rowlaw.stopping import NEVER, Stop, Stopped
from tests import naive

module = importlib.import_module("rowlaw.discovery.discover")  # the package has a function of this name
LOOKS = [*range(12), 15, 20, 30, 50, 80, 130, 210, 340]


class Counted(Deadline):
    """Passes at the n-th look. ``begun`` has what was begun after that."""

    def __init__(self, looks):
        super().__init__()
        self.looks, self.seen, self.begun = looks, 0, []
        self._counting = threading.Lock()

    @property
    def passed(self):
        with self._counting:
            self.seen += 1
            if self.seen > self.looks and not self.stopped:
                self.request()
        return self.stopped


def generated(rows, seed=0):
    random = np.random.default_rng(seed)
    base = random.integers(0, 12, rows)
    return {
        "a": base.tolist(),
        "b": (base // 3 + random.integers(0, 2, rows)).tolist(),
        "c": [None if n == 7 else f"x{n}" for n in random.integers(0, 9, rows)],
        "d": (base * 2).tolist(),
        "e": [None if n > 0.9 else round(n, 1) for n in random.random(rows)],
        "f": list(range(rows)),
    }


ROWS = 24
TABLE = generated(ROWS)

# What takes time on a large table. A deadline that has passed must keep each of them from beginning.
WORK = [
    (tiles, "fold"),
    (denial, "fold"),
    (dependencies, "fold"),
    (tiles.kernels, "count_tiles"),
    (sample.Sampler, "random"),
    (sample.Sampler, "neighbouring"),
    (tasks, "counterexamples"),
    (tasks, "answer"),
    (contexts.Contexts, "_look"),
    (contexts.Contexts, "_removed"),
    (extend, "extended"),
    (difference_kernels, "compare_all"),
    (approximate, "enumerate_approximate"),
    (module, "predicate_space"),
    (listing.Listing, "_near_misses"),
]


@pytest.fixture
def watch(monkeypatch):
    """Note what begins although the deadline has passed. Threads that had looked just before it are given the benefit
    of the doubt."""

    def begin(limit):
        for owner, name in WORK:
            usual = getattr(owner, name)

            def entered(*arguments, usual=usual, name=name, **options):
                if limit.stopped and limit.seen > limit.looks + 20:
                    limit.begun.append(name)
                return usual(*arguments, **options)

            monkeypatch.setattr(owner, name, entered)

    return begin


def discovered(relation, limit, **options):
    return module.run(LocalEngine(relation), SpaceOptions(), deadline=limit, **options)


RUNS = [
    {"kinds": ("key", "fd", "od"), "strategy": "pairs"},
    {"kinds": ("key", "fd", "od"), "strategy": "sample"},
    {"kinds": ("key", "fd", "od"), "strategy": "auto"},
    {"kinds": ("key", "fd", "od"), "strategy": "levels"},
    {"kinds": ("dc",), "strategy": "pairs"},
    {"kinds": ("dc",), "strategy": "sample"},
    {"kinds": ("key", "fd", "od", "dc"), "strategy": "sample"},
    {"kinds": ("key", "fd", "od"), "error": 0.05},
    {"kinds": ("dc",), "strategy": "pairs", "error": 0.05},
    {"kinds": ("dc",), "strategy": "sample", "error": 0.05},
]


def _name(options):
    return "-".join([*options["kinds"], options.get("strategy", "auto"), str(options.get("error", ""))])


@pytest.fixture(scope="module")
def relation():
    with encode(open_source(pa.table(TABLE))) as found:
        yield found


@pytest.fixture(scope="module")
def few_columns():
    """For runs that count how many pairs break each of very many rules."""
    with encode(open_source(pa.table(TABLE), columns=["a", "b", "c", "d"])) as found:
        yield found


@pytest.fixture
def asked(options, relation, few_columns):
    return few_columns if options in RUNS[8:] else relation


@pytest.mark.parametrize("options", RUNS, ids=_name)
def test_what_is_found_by_any_look_is_proven(options, asked, watch, monkeypatch):
    relation = asked
    monkeypatch.setattr(dependencies, "ALWAYS_PAIRS", 10)  # so that "auto" begins with a sample
    monkeypatch.setattr(neighbours, "SAMPLED", 3)
    monkeypatch.setattr(contexts, "ALONE_SECONDS", 0.0)
    whole = discovered(relation, Deadline(), **options)
    expected = {str(r.rule): r for r in whole}
    assert not whole.partial
    sizes = set()
    for looks in LOOKS:
        limit = Counted(looks)
        watch(limit)
        found = discovered(relation, limit, **options)
        monkeypatch.undo()
        assert limit.begun == []
        assert found.partial == limit.stopped or looks == LOOKS[-1]
        laws = {str(r.rule) for r in found}
        for rule in found:
            _check(rule, options.get("error", 0.0), found.removed)
        # of several kinds, what another law would imply may be listed
        if len(options["kinds"]) == 1 or "dc" not in options["kinds"]:
            assert laws <= expected.keys()
        assert found.partial or laws == expected.keys()
        sizes.add(len(laws))
        monkeypatch.setattr(dependencies, "ALWAYS_PAIRS", 10)
        monkeypatch.setattr(neighbours, "SAMPLED", 3)
        monkeypatch.setattr(contexts, "ALONE_SECONDS", 0.0)
    assert min(sizes) == 0


@cache
def _violations(rule):
    return naive.count(rule, TABLE, "unknown")


@cache
def _removed(rule):
    return naive.rows_to_remove(rule, TABLE, "unknown") / ROWS


def _check(rule, error, removed):
    share = _violations(rule.rule) / (ROWS * (ROWS - 1))
    assert rule.error == share
    if error and rule.rule.kind != "dc":
        assert removed[rule.id] == _removed(rule.rule) <= error
    else:
        assert share <= error, rule


@pytest.mark.parametrize("options", RUNS, ids=_name)
def test_no_time_at_all(options, relation, watch):
    limit = Counted(0)
    limit.looks = -100
    watch(limit)
    found = discovered(relation, limit, **options)
    assert (found.partial, len(found), limit.begun) == (True, 0, [])


def test_no_time_to_read(tmp_path):
    found = rowlaw.discover(pa.table(TABLE), time_limit=0.0, progress=False)
    assert (found.partial, len(found), found.why) == (True, 0, "no time to read the table")


@pytest.mark.parametrize("tasks_done", [0, 1, 3])
def test_reading_ends_between_two_tasks(tasks_done, tmp_path, monkeypatch):
    read, stop, folder = [], Stop(), tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setenv("ROWLAW_SCRATCH", str(folder))
    from rowlaw.source.files import MemorySplit

    usual = MemorySplit.read

    def reading(self, columns):
        read.append(columns)
        if len(read) > tasks_done:
            stop.request()
        return usual(self, columns)

    monkeypatch.setattr(MemorySplit, "read", reading)
    with pytest.raises(Stopped):
        encode(open_source(pa.table(TABLE)), workers=DriverThreads(1), stop=stop)
    assert len(read) == tasks_done + 1
    assert list(folder.iterdir()) == []


# --- ranking
# ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [RUNS[6], RUNS[0], RUNS[4], RUNS[7], RUNS[9]], ids=_name)
def test_ranking_ends_in_time(options, asked, monkeypatch):
    """There is always something to show, and it is said what there was no time for."""
    relation = asked
    for name in ("PORTION", "COMPARED"):
        monkeypatch.setattr(together, name, 1 if name == "PORTION" else 0.4)
    whole = discovered(relation, Deadline(), **options)
    for looks in (0, 1, 2, 3, 5, 8, 13):
        limit = Deadline(ranking=Counted(looks))
        monkeypatch.setattr(Deadline, "part", lambda self, share: self)
        monkeypatch.setattr(Deadline.made, "__defaults__", (1,))
        monkeypatch.setattr(denial, "RULES_PER_LOOK", 1)
        found = discovered(relation, limit, **options)
        monkeypatch.undo()
        assert {str(r.rule) for r in found} <= {str(r.rule) for r in whole} or len(options["kinds"]) == 4
        assert found.partial == (len(found) < len(whole))
        for rule in found:
            _check(rule, options.get("error", 0.0), found.removed)
        if found.partial:
            assert "no time to" in found.why or "time was up" in found.why
        if looks == 0 and not options.get("error"):
            assert 0 < len(found) < len(whole)
            assert found.near_misses == ()


def test_time_is_kept_for_ranking_and_writing(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(deadline.time, "monotonic", lambda: now[0])
    limit = Deadline.after(40)
    assert 30 < limit.left < 40
    assert limit.left < limit.ranking.left < 40
    now[0] += limit.left
    assert limit.passed
    assert not limit.ranking.passed
    now[0] = 140.0
    assert limit.ranking.passed
    assert Deadline.after(1_000).left > 950  # a few seconds are enough for any list


def test_an_interrupt_leaves_a_moment_for_ranking(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(deadline.time, "monotonic", lambda: now[0])
    limit = Deadline.after(None)
    part = limit.part(0.5)
    assert limit.interrupt()
    assert not limit.interrupt()
    assert (limit.passed, part.passed, limit.ranking.passed) == (True, True, False)
    now[0] += 2
    assert limit.ranking.passed


# --- the parts
# ---------------------------------------------------------------------------------------------------------------------


def test_a_function_that_does_not_end_is_left_behind():
    stop, begun, go_on = Stop(), threading.Event(), threading.Event()

    def stubborn():
        begun.set()
        go_on.wait()

    threading.Thread(target=lambda: (begun.wait(), stop.request())).start()
    with pytest.raises(Stopped):
        finished(stubborn, stop)
    go_on.set()
    assert finished(lambda: 7, NEVER) == finished(lambda: 7, Stop()) == 7
    with pytest.raises(ZeroDivisionError):
        finished(lambda: 1 / 0, Stop())


@pytest.mark.parametrize("slots", [1, 3])
def test_tasks_that_are_done_are_not_lost(slots):
    stop, done = Stop(), []

    def work(task):
        if task == 4:
            stop.request()
            raise Stopped
        return task

    with pytest.raises(Stopped) as stopped:
        DriverThreads(slots).map(work, range(20), "count", stop=stop)
    assert [r for r in stopped.value.results if r is not None][:4] == [0, 1, 2, 3]
    assert len(stopped.value.results) == 20
    assert DriverThreads(slots).map(work, range(4), "count", lambda *now: done.append(now), stop=Stop()) == [0, 1, 2, 3]
    assert done == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert DriverThreads(slots).map(work, [], "count", stop=Stop()) == []


def _requested():
    stop = Stop()
    stop.request()
    return stop


def test_kernels_look_at_the_flag(relation):
    slots, stop = Slots.same_column(relation), _requested()
    work = tiles.Tiles(slots, None, None, 4, tiles.kernels.DIRECT, stop=stop)
    signatures, counts = work(np.array([[0, 0], [0, 1]]))
    assert len(signatures) == len(counts) == 0
    edges, sets = np.array([[1], [2]], np.uint64), np.array([[1]] * 100, np.uint64)
    assert extend.missing(edges, 0, sets, 1000, NEVER.flag).all()
    assert not extend.missing(edges, 0, sets, 1000, stop.flag).any()
    graph = Hypergraph(edges, 2)
    before = minimal_hitting_sets(Hypergraph(edges[:1], 2)).sets
    assert refine(graph, before, 1).complete
    assert not refine(graph, before, 1, stop).complete
    assert not minimal_hitting_sets(graph, stop).complete


@pytest.mark.parametrize(
    "work", [all_pairs, lambda slots, stop: agreeing_pairs(slots, ["a"], stop=stop)], ids=["all", "agreeing"]
)
def test_evidence_is_whole_or_none(work, relation):
    with pytest.raises(Stopped):
        work(Slots.same_column(relation), stop=_requested())
    assert len(work(Slots.same_column(relation), stop=Stop()))


def test_the_engine_says_what_it_has_not_examined(relation, monkeypatch):
    engine, stop = LocalEngine(relation), Stop()
    rules = [parse(f"fd ({a}) -> {b}") for a in "abde" for b in "abde" if a != b]
    expected = engine.examined(rules, 3)
    usual, asked = tasks.counterexamples, []

    def counterexamples(*arguments):
        asked.append(arguments)
        if len(asked) == 5:
            stop.request()
        return usual(*arguments)

    monkeypatch.setattr(tasks, "counterexamples", counterexamples)
    found = engine.examined(rules, 3, stop=stop)
    known = [i for i, pairs in enumerate(found) if pairs is not None]
    assert 1 <= len(known) <= 6  # another thread may have been asking as well
    assert all(np.array_equal(found[i], expected[i]) for i in known)
    assert engine.examined(rules, 3, stop=stop) == [None] * len(rules)
    with pytest.raises(Stopped):
        engine.count(rules, stop=stop)


def test_a_deadline_travels_with_the_time_left():
    assert not pickle.loads(pickle.dumps(Deadline())).passed
    assert not pickle.loads(pickle.dumps(Deadline.after(600))).passed
    assert pickle.loads(pickle.dumps(Deadline.after(0.0))).passed
    assert not pickle.loads(pickle.dumps(Stop()))()
    soon = pickle.loads(pickle.dumps(Deadline.after(0.2)))
    while not soon.flag[0]:
        threading.Event().wait(0.01)
    assert soon.stopped
