"""Python workers that may hold less than the encoded table: its two million rows are checked all the same, also where
half have one value.

The system limits the writable memory of each Python worker (``RLIMIT_DATA``), which a file ``sitecustomize.py`` on its
path sets. Arrow allocates by the system's allocator there: its own reserves a gigabyte at once. Answers are compared
with those of the local engine.
"""

import json
import os

import numpy as np
import pyarrow as pa
import pytest

import rowlaw

ROWS, SKEWED_ROWS = 2_000_000, 600_000
LIMIT = 384 << 20  # bytes, of which a worker with kernels uses 170 MiB before it has any row

# Columns are (factor, modulus): the row's number times the factor, modulo the modulus; or 0 in every second row, if
# there is a True.
WIDE = {"g": (48_271, 499), "x": (48_281, 1_999_993), "y": (69_621, 1_999_993)} | {
    f"c{i}": (2 * i + 1, 8) for i in range(49)
}
NAMES = list(WIDE)
WIDE_RULES = {
    "partition": "not (s.g = t.g and s.x < t.x and s.y > t.y)",
    "bucket": "not (s.x < t.x and s.y > t.y)",
    "key": f"key ({', '.join(NAMES[3:28])})",
    "dependency": f"fd ({', '.join(NAMES[28:])}) -> g",
}
SKEWED = {
    "g": (1, 1_000, True),
    "h": (7, 900, True),
    "x": (48_271, 1_999_993),
    "y": (69_621, 1_999_993),
    "z": (16_807, 97),
}
SKEWED_RULES = {
    "filter": "not (s.g = s.h and s.x < s.y)",
    "aggregate": "fd (g) -> z",
    "products": "not (s.g = t.g and s.z != t.z and s.h != t.h)",
    "keyed": "not (s.g = t.g and s.x < t.x and s.y > t.y)",
    "two roles": "not (s.g = t.h and s.x < t.x)",
    "bucket": "not (s.x < t.x and s.y > t.y)",
}
CUT_RULES = {"cut": SKEWED_RULES["keyed"]}

SETUP = """
    import numpy as np, pyarrow as pa
    import rowlaw

    asked = json.loads(os.environ["ASKED"])
    spark = session()

    def remainder(factor, modulus, halved=False):
        value = f"pmod(id * {factor}, {modulus})"
        return f"case when pmod(id, 2) = 0 then 0 else {value} end" if halved else value

    def holds(size):
        '''How many bytes a Python worker has got, of so many.'''
        def task(batches):
            for batch in batches:
                try:
                    told = np.ones(size >> 3, np.int64).nbytes
                except MemoryError:
                    told = 0
                yield pa.record_batch({"told": [told]})
        return spark.range(1).mapInArrow(task, "told long").first()["told"]

    told = [holds(64 << 20), holds(asked["limit"])]
    columns = (f"{remainder(*of)} as {name}" for name, of in asked["columns"].items())
    frame = spark.range(asked["rows"]).selectExpr(*columns)
    found = rowlaw.check(frame, asked["rules"], engine="spark", progress=False).counts
"""


@pytest.fixture(scope="module")
def limited(tmp_path_factory):
    """Settings of a session whose Python workers are limited."""
    folder = tmp_path_factory.mktemp("limit")
    (folder / "sitecustomize.py").write_text(
        f"import resource\nresource.setrlimit(resource.RLIMIT_DATA, ({LIMIT}, {LIMIT}))\n"
    )
    path = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "MALLOC_ARENA_MAX")
    environment = {"PYTHONPATH": path, "ARROW_DEFAULT_MEMORY_POOL": "system", **dict.fromkeys(threads, "1")}
    told = {"spark.executor.cores": "1", "spark.executor.memoryOverhead": f"{LIMIT >> 20}m"}  # what the engine goes by
    told |= {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}  # many rows
    return {f"spark.executorEnv.{name}": value for name, value in environment.items()} | told


def local(columns, rules, rows=ROWS):
    """What the local engine says, in this process."""
    number = np.arange(rows)
    values = {name: number * factor % modulus for name, (factor, modulus, *_) in columns.items()}
    table = pa.table({name: v * (number % 2) if columns[name][2:] else v for name, v in values.items()})
    return rowlaw.check(table, rules, engine="local", progress=False).counts


def asked(cluster, conf, text, columns, rules, **more):
    """What a driver tells: two tries to get memory, and what `text` adds."""
    question = {"limit": LIMIT, "columns": columns, "rules": rules, **more}
    (enough, too_much), *found = cluster.run(f"{SETUP}{text}", conf=conf, timeout=280, ASKED=json.dumps(question))
    assert enough == 64 << 20
    assert too_much == 0, "the limit has no effect"
    return found


def test_workers_with_less_memory_than_the_table(cluster, limited):
    assert {name for named in rowlaw.RuleSet.of(WIDE_RULES) for name in named.rule.columns} == set(NAMES), (
        "all of the table is checked"
    )
    assert 4 * ROWS * len(NAMES) > LIMIT, "the table's codes are larger than the limit"
    (found,) = asked(cluster, limited, "    print(json.dumps([told, found]))\n", WIDE, WIDE_RULES, rows=ROWS)
    assert found == local(WIDE, WIDE_RULES)
    assert found["bucket"] > 10**11


CUT = """
    from rowlaw.engine.open import open_engine
    from rowlaw.engine.spark.limits import SparkLimits
    from rowlaw.source import open_source
    from rowlaw.violations.check import rule_set, run

    engine = open_engine(open_source(frame), engine="spark", limits=SparkLimits(task_bytes=8 << 20, buckets=16))
    cut = rule_set(asked["cut"])
    words = [engine.explain(named.rule).denials[0].count.because for named in cut]
    found |= run(engine, cut).counts
"""


def test_half_of_all_rows_have_one_value(cluster, limited):
    """One rule for each plan; the last one is cut because the group has more rows than a task may take."""
    text = f"{CUT}    print(json.dumps([told, found, words]))\n"
    found, words = asked(cluster, limited, text, SKEWED, SKEWED_RULES, rows=SKEWED_ROWS, cut=CUT_RULES)
    assert found == local(SKEWED, SKEWED_RULES | CUT_RULES, SKEWED_ROWS)
    assert min(found.values()) > 10**5, "a rule that nearly holds says little"
    assert all("cut by buckets" in text for text in words), words
