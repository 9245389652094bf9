"""A guard before a table of Spark: good rows come in, bad rows are put aside, each exactly once, whatever ends the
process."""

import datetime as dt
import json
import os
import signal
import subprocess
import sys
import textwrap
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rowlaw
from rowlaw.engine.spark.limits import VALUE_BYTES, SparkLimits
from rowlaw.errors import RowlawError
from rowlaw.rules import parse
from rowlaw.spark.jobs import frame_of
from rowlaw.storage import arrays as steps
from rowlaw.streams import deciding, tables
from rowlaw.streams.guard import HistoryGuard
from tests import naive
from tests.sessions import QUICK
from tests.spark.test_stream import NOW, finished, write

pytestmark = pytest.mark.usefixtures("quick_spark")

SCHEMA = "id long, zip string, city string"
RULES = {"one_city": "fd (zip) -> city", "id_is_unique": "key (id)", "known": "s.id >= 0"}
OLD = [(1, "07030", "Hoboken"), (2, "10001", "New York")]
BATCHES = [
    [(3, "07030", "Hobken"), (4, "60601", "Chicago"), (5, "60601", "Chicago"), (-6, "60601", "Chikago")],
    [
        (4, "60601", "Chicago"),
        (7, "99999", "Nowhere"),
        (8, "99999", "Elsewhere"),
        (7, "07030", "Hoboken"),
        (9, "60601", "Chicago"),
    ],
    [(10, None, "Nowhere"), (11, "07030", "Newark"), (12, "10001", "New York")],
]


def table(rows):
    return pa.table({name: [row[i] for row in rows] for i, name in enumerate(("id", "zip", "city"))})


def contents(spark, folder, *columns):
    if not folder.exists():
        return []
    rows = spark.read.parquet(str(folder)).select("id", "zip", "city", *columns).collect()
    return sorted((tuple(row) for row in rows), key=repr)


def expected(batches=BATCHES):
    """The rows that come in and those that do not, by the slow twin, batch by batch."""
    inside, outside = list(OLD), []
    for rows in batches:
        broken = naive.refused([parse(text) for text in RULES.values()], values(rows), values(inside), "unknown")
        outside += [(*rows[i], sorted(list(RULES)[rule] for rule in rules)) for i, rules in broken.items()]
        inside += [row for i, row in enumerate(rows) if i not in broken]
    return sorted(inside, key=repr), sorted(outside, key=repr)


def values(rows):
    return {name: [row[i] for row in rows] for i, name in enumerate(("id", "zip", "city"))}


@pytest.fixture
def history(tmp_path):
    (tmp_path / "history").mkdir()
    pq.write_table(table(OLD), tmp_path / "history" / "old.parquet")
    return tmp_path / "history"


@pytest.fixture
def guard(history, tmp_path):
    return HistoryGuard.of(history, RULES, tmp_path / "held", row_id="id")


def test_a_stream_into_a_history(spark, history, tmp_path):
    for i, rows in enumerate(BATCHES):
        write(tmp_path / "incoming", str(i), table(rows))
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "incoming"))
    heard = []
    options = {"history": history, "guard": RULES, "quarantine": tmp_path / "held", "row_id": "id", "trigger": NOW}
    query = finished(rowlaw.watch(stream, **options, on_change=heard.append))
    inside, outside = expected()
    assert contents(spark, history) == inside
    held = spark.read.parquet(str(tmp_path / "held"))
    told = sorted(((*row[:3], sorted(row["broken_rules"])) for row in held.collect()), key=repr)
    assert told == outside
    partners = {
        row["id"]: [p.asDict(recursive=True) for p in row["partners"]]
        for row in held.where("city = 'Hobken'").collect()
    }
    assert partners == {3: [{"rule": "one_city", "new": False, "row": {"zip": "07030", "city": "Hoboken", "id": 1}}]}
    later = held.where("city = 'Elsewhere'").first()
    assert [(p["rule"], p["new"], p["row"]["id"]) for p in later["partners"]] == [("one_city", True, 7)]
    assert {row["batch"] for row in held.select("batch").distinct().collect()} == {f"{query.id}/{i}" for i in range(3)}
    assert [(one.accepted, one.refused, one.repeated) for one in heard] == [(2, 2, False), (2, 3, False), (2, 1, False)]
    assert heard[0].broken == {"known": 1, "one_city": 2}
    assert "one_city is broken by 2 of them" in heard[0].summary
    assert not list((history / "_rowlaw" / "staged").iterdir())
    finished(rowlaw.watch(stream, **options, on_change=heard.append))  # nothing new
    assert len(heard) == 3


class Killed(BaseException):
    """As good as the end of the process."""


STEPS = [
    "stage the batch",
    "stage the rows that come in",
    "stage the rows that stay out",
    "decide the batch",
    "put rows aside",
    "put rows into the history",
    "delete what was staged",
]


def stopping(step):
    def stop(name):
        if name == step:
            raise Killed(name)

    return stop


@pytest.mark.parametrize("step", STEPS)
def test_stopped_at_every_step(spark, history, guard, tmp_path, step):
    """Twice at the same step, the second time while it recovers; readers see all of a batch or nothing of it."""
    first, second = (spark.createDataFrame(rows, SCHEMA).coalesce(1) for rows in BATCHES[:2])
    inside, outside = expected(BATCHES[:1])
    steps.listeners.append(stopping(step))
    try:
        for _ in range(2):
            with pytest.raises(Killed):
                guard(first, "first")
            assert contents(spark, history) in (sorted(OLD), inside)
    finally:
        steps.listeners.clear()
    decided = STEPS.index(step) > STEPS.index("decide the batch")
    assert guard(first, "first").repeated == decided
    assert contents(spark, history) == inside
    held = contents(spark, tmp_path / "held", "broken_rules")
    assert sorted(((*row[:3], sorted(row[3])) for row in held), key=repr) == outside
    guard(second, "second")
    assert guard(first, "first").repeated
    assert contents(spark, history) == expected(BATCHES[:2])[0]
    assert not list((history / "_rowlaw" / "staged").iterdir())


KILLED = """
    import os, signal, sys
    import rowlaw
    from rowlaw.storage import arrays as steps
    from rowlaw.spark.session import session

    def stop(name):
        if name == {step!r}:
            os.kill(os.getpid(), signal.SIGKILL)
    steps.listeners.append(stop)
    spark = session(master="local[1]", short=True)
    for name, value in {quick!r}.items():
        spark.conf.set(name, value)
    stream = spark.readStream.schema({schema!r}).option("maxFilesPerTrigger", 1).parquet("incoming")
    now = {{"availableNow": True}}
    query = rowlaw.watch(stream, history="history", guard={rules!r}, quarantine="held", trigger=now)
    query.awaitTermination()
"""


@pytest.mark.timeout(1500)
def test_processes_that_are_killed_between_two_writes(spark, history, tmp_path):
    """Each run of the stream is killed at a later step than the one before it; the last one goes through. The other
    steps are those of the test above: a process and its Java take long to start."""
    for i, rows in enumerate(BATCHES):
        write(tmp_path / "incoming", str(i), table(rows))
    for step in ("stage the rows that stay out", "decide the batch", "put rows aside", "delete what was staged", None):
        text = textwrap.dedent(KILLED.format(step=step, schema=SCHEMA, rules=RULES, quick=QUICK))
        done = subprocess.run(
            [sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False
        )
        assert done.returncode == (0 if step is None else -signal.SIGKILL), done.stderr
    inside, outside = expected()
    assert contents(spark, history) == inside
    assert (
        sorted(((*row[:3], sorted(row[3])) for row in contents(spark, tmp_path / "held", "broken_rules")), key=repr)
        == outside
    )


def test_a_batch_larger_than_the_limit_comes_in_pieces(spark, history, tmp_path, monkeypatch):
    """Nothing larger than the limit is brought here: four rows at a time, and the outcome is the same."""
    monkeypatch.setattr(deciding, "PIECE_ROWS", 1)
    limits = SparkLimits(driver_bytes=4 * (VALUE_BYTES["number"] + 2 * VALUE_BYTES["text"]))
    small = HistoryGuard.of(history, RULES, tmp_path / "held", order_column="id", limits=limits)
    rows = [(9, "a", "x"), (8, "a", "y"), (5, "b", "w"), (7, "a", "x"), (6, "b", "z"), (4, "07030", "Hobken")]
    outcome = small(spark.createDataFrame(rows, SCHEMA).coalesce(1), "b")
    inside, outside = expected([sorted(rows)])
    assert contents(spark, history) == inside
    assert [row[0] for row in outside] == [4, 6, 8]
    assert (outcome.accepted, outcome.refused) == (3, 3)


def test_all_types_pass_unchanged(spark, tmp_path):
    columns = {
        "id": pa.array([1, 2, 3], pa.int32()),
        "at": pa.array([dt.datetime(2024, 3, 31, 2, 30)] * 3, pa.timestamp("us", "UTC")),
        "local": pa.array([dt.datetime(2024, 3, 31, 2, 30)] * 3, pa.timestamp("us")),
        "day": pa.array([dt.date(2024, 1, 1)] * 3),
        "price": pa.array([Decimal("1.50"), Decimal("2.50"), None]),
        "x": [0.5, float("nan"), None],
        "ok": [True, False, None],
        "odd name`": ["a", "b", None],
        "tags": [["a"], [], None],
    }
    rules = {
        "at": "fd (at, local, day) -> price",
        "name": "key (`odd name```)",
        "x": "not (s.x > 9)",
        "ok": "fd (ok) -> x",
    }
    frame = frame_of(spark, pa.table(columns))
    taking = HistoryGuard.of(tmp_path / "history", rules, tmp_path / "held", row_id=["id", "at"])
    assert (taking(frame.limit(1), "0").accepted, taking(frame, "1").refused) == (1, 2)
    history, held = (spark.read.parquet(str(tmp_path / name)) for name in ("history", "held"))
    assert history.schema.simpleString() == frame.schema.simpleString()
    assert sorted(r["id"] for r in history.collect()) == [1, 3]
    row = held.where("id = 2").first()
    assert row["at"] == frame.first()["at"]
    assert [(p["rule"], p["row"]["id"], p["row"]["price"], p["row"]["at"]) for p in row["partners"]] == [
        ("at", 1, Decimal("1.50"), row["at"])
    ]


def test_batches_that_do_not_fit(spark, history, guard, tmp_path):
    for frame, problem in (
        (spark.createDataFrame([(1, "a")], "id long, zip string"), "BATCH_COLUMNS: .*no column 'city'"),
        (spark.createDataFrame([(1, "a", "b", 1)], SCHEMA + ", n int"), "BATCH_COLUMNS: .*no column 'n'"),
        (spark.createDataFrame([("1", "a", "b")], SCHEMA.replace("long", "string")), "BATCH_TYPE: .*'id': string"),
    ):
        with pytest.raises(RowlawError, match=problem):
            guard(frame, "bad")
    with pytest.raises(RowlawError, match="UNKNOWN_COLUMN"):
        HistoryGuard.of(history, ["key (nothing)"], tmp_path / "held")(spark.createDataFrame(OLD, SCHEMA), "bad")
    assert contents(spark, history) == sorted(OLD)
    assert not (tmp_path / "held").exists()
    assert not list((history / "_rowlaw" / "staged").iterdir())


def test_options(spark, history, guard, tmp_path):
    stream = spark.readStream.schema(SCHEMA).parquet(str(history))
    for options, problem in (
        ({}, "give either a state or a history"),
        ({"history": history, "quarantine": "held"}, "guarded by rules"),
        ({"history": history, "guard": RULES}, "bad rows go to a table"),
        ({"history": history, "guard": RULES, "quarantine": history}, "another table than history"),
        (
            {"history": history, "guard": RULES, "quarantine": "held", "change_column": "op"},
            "a change feed needs a state",
        ),
        ({"history": "s3://bucket/x", "guard": RULES, "quarantine": "held"}, "by one path"),
        ({"history": "a*", "guard": RULES, "quarantine": "held"}, "a path without"),
        ({"history": history / "old.parquet", "guard": RULES, "quarantine": "held"}, "this is a file"),
        ({"state": "x", "row_id": "id"}, "it is for a history"),
    ):
        with pytest.raises(RowlawError, match=f"BAD_OPTION: .*{problem}"):
            rowlaw.watch(stream, **options)
    (history / "day=1").mkdir()
    with pytest.raises(RowlawError, match="partitioned table"):
        guard(spark.createDataFrame(OLD, SCHEMA), "0")


def test_a_log_that_somebody_else_holds(spark, history, guard):
    frame = spark.createDataFrame([(20, "1", "a")], SCHEMA)
    guard(frame, "0")
    code = (
        "import fcntl, sys; f = open(sys.argv[1], 'ab'); fcntl.flock(f, fcntl.LOCK_EX); print('held', "
        "flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(history / "_rowlaw" / "lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(RowlawError, match="STATE_LOCKED"):
            guard(frame, "1")
        other.stdin.close()
    (history / "_rowlaw" / "batches" / "0.json").write_text("{")
    with pytest.raises(RowlawError, match="STATE_DAMAGED"):
        guard(frame, "0")


class Recorder:
    """Stands in for Delta's writer, whose jars are not here: it keeps what it is asked for."""

    def __init__(self):
        self.asked = []

    def __getattr__(self, name):
        def call(*words):
            self.asked.append((name, *words))
            return self

        return call


def test_delta_is_told_which_batch_it_gets(spark, history, tmp_path, monkeypatch):
    (tmp_path / "delta" / "_delta_log").mkdir(parents=True)
    found = tables.open_table(tmp_path / "delta", spark, "history")
    assert isinstance(found, tables.DeltaTable)
    recorder = Recorder()
    monkeypatch.setattr(type(spark.range(1)), "write", property(lambda _: recorder))
    found.append(spark, history, "key", "rowlaw-x-history", 7)
    assert recorder.asked == [
        ("format", "delta"),
        ("mode", "append"),
        ("option", "txnAppId", "rowlaw-x-history"),
        ("option", "txnVersion", 7),
        ("option", "mergeSchema", "true"),
        ("save", f"file://{tmp_path}/delta"),
    ]
    found.append(spark, tmp_path / "gone", "key", "rowlaw-x-history", 7)
    assert len(recorder.asked) == 6


def test_the_command(spark, history, script, tmp_path):
    """Files of a folder; a bad one is skipped, said at the end, and tried again."""
    (tmp_path / "incoming").mkdir()
    (tmp_path / "guard.yaml").write_text("rules:\n" + "".join(f"  {id}: {text}\n" for id, text in RULES.items()))
    (tmp_path / "incoming" / "1.csv").write_text("id,zip,city\n3,07030,Hobken\n4,60601,Chicago\n")
    (tmp_path / "incoming" / "2.csv").write_text("id,zip\n3,07030\n")
    (tmp_path / "incoming" / "3.csv").write_text("id,zip,city\n5,60601,Chicago\n")
    for i in (1, 2, 3):
        os.utime(tmp_path / "incoming" / f"{i}.csv", (i, i))
    words = [
        "watch",
        "--history",
        "history",
        "--source-folder",
        "incoming",
        "--once",
        "--guard",
        "guard.yaml",
        "--quarantine",
        "held",
    ]
    text = f"import sys\nfrom rowlaw.cli import main\nsys.argv = ['rowlaw', *{words!r}, '--format', 'json']\nmain()\n"
    done = script(text)
    assert done.returncode == 2, done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(one["batch_id"], one["accepted"], one["quarantined"]) for one in told] == [
        ("file:1.csv", 1, 1),
        ("file:3.csv", 1, 0),
    ]
    assert "rowlaw: skipped 2.csv: BATCH_COLUMNS" in done.stderr
    assert done.stderr.splitlines()[-1] == "rowlaw: skipped 1 file, which the next run tries again: 2.csv"
    (tmp_path / "incoming" / "2.csv").write_text("id,zip,city\n6,60601,Chicago\n")
    done = script(text)
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["batch_id"] for line in done.stdout.splitlines()] == ["file:2.csv"]
    assert [row[0] for row in contents(spark, history)] == [1, 2, 4, 5, 6]
