"""Python workers that may hold less than the encoded table: its two million rows are checked all the same, also where half have one value.

The system limits the writable memory of each Python worker (``RLIMIT_DATA``), which a file ``sitecustomize.py`` on its path sets. Arrow
allocates by the system's allocator there: its own reserves a gigabyte at once. Answers are compared with those of the local engine.
"""

import os

import pytest

LIMIT = 384 << 20  # bytes, of which a worker with kernels uses 170 MiB before it has any row

SETUP = """
    import numpy as np, pyarrow as pa
    import rowlaw
    from pyspark.sql import functions as f

    ROWS, LIMIT = 2_000_000, int(os.environ["LIMIT"])
    spark = session()

    def holds(mebibytes):
        '''Whether a Python worker can have so much memory.'''
        def task(batches):
            for batch in batches:
                try:
                    told = str(int(np.ones(mebibytes << 17, np.int64).sum()) >> 17)
                except MemoryError:
                    told = "MemoryError"
                yield pa.record_batch({"told": [told]})
        return spark.range(1).mapInArrow(task, "told string").first()["told"]

    def remainder(column, factor, modulus):
        return f"pmod({column} * {factor}, {modulus})"

    class Columns(dict):
        '''Columns by their names as (factor, modulus); made by Spark where the rows are, and here by NumPy for the local engine.'''

        def frame(self):
            return spark.range(ROWS).selectExpr(*(f"{remainder('id', *of)} as {name}" for name, of in self.items()))

        def here(self, names):
            numbers = np.arange(ROWS)
            return pa.table({name: numbers * self[name][0] % self[name][1] for name in names})

    def local(table, rules):
        return rowlaw.check(table, rules, engine="local", progress=False).counts
"""

WIDE = """
    names = [f"c{i}" for i in range(52)]
    columns = Columns({name: (48_271 + 2 * i, [1_999_993, 499, 1_000, 7_919][i % 4]) for i, name in enumerate(names)})
    rules = [
        "not (s.c1 = t.c1 and s.c0 < t.c0 and s.c4 > t.c4)",
        "not (s.c2 = t.c2 and s.c8 < t.c8 and s.c3 >= t.c3)",
        "not (s.c5 = t.c5 and s.c6 != t.c6 and s.c12 < t.c12)",
        "not (s.c16 < t.c16 and s.c20 > t.c20)",
        "not (s.c7 = t.c7 and s.c10 != t.c10 and s.c9 != t.c9)",
        f"key ({', '.join(names[22:40])})",
        f"fd ({', '.join(names[40:51])}, c11, c13, c14, c15, c17, c18, c19, c21) -> c51",
    ]
    assert {name for rule in rules for name in rowlaw.RuleSet.of([rule])["R1"].rule.columns} == set(names)
    encoded = 4 * ROWS * len(names)
    assert LIMIT < encoded, (LIMIT, encoded)
    found = rowlaw.check(columns.frame(), rules, engine="spark", progress=False).counts
    print(json.dumps([holds(60), holds(LIMIT >> 20), found == local(columns.here(names), rules), sorted(found.values())]))
"""


@pytest.fixture(scope="module")
def limited(tmp_path_factory):
    """Settings of a session whose Python workers are limited."""
    folder = tmp_path_factory.mktemp("limit")
    (folder / "sitecustomize.py").write_text(f"import resource\nresource.setrlimit(resource.RLIMIT_DATA, ({LIMIT}, {LIMIT}))\n")
    path = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "MALLOC_ARENA_MAX")
    environment = {"PYTHONPATH": path, "ARROW_DEFAULT_MEMORY_POOL": "system", **dict.fromkeys(threads, "1")}
    return {f"spark.executorEnv.{name}": value for name, value in environment.items()}


def test_workers_with_less_memory_than_the_table(cluster, limited):
    enough, too_much, same, counts = cluster.run(SETUP + WIDE, conf=limited, LIMIT=str(LIMIT))
    assert enough == "60"
    assert too_much == "MemoryError", "the limit has no effect"
    assert same
    assert counts[-1] > 10**11


SKEWED = """
    from rowlaw.engine.open import open_engine
    from rowlaw.engine.spark.limits import SparkLimits
    from rowlaw.source import open_source
    from rowlaw.violations.check import rule_set, run

    columns = Columns(g=(1, 1_000), h=(7, 900), x=(48_271, 1_999_993), y=(69_621, 1_999_993), z=(16_807, 10_007))
    half = "case when pmod(id, 2) = 0 then 0 else {} end"
    frame = spark.range(ROWS).selectExpr(
        *(f"{half.format(remainder('id', *of)) if name in 'gh' else remainder('id', *of)} as {name}" for name, of in columns.items())
    )
    here = columns.here(list(columns))
    odd = np.arange(ROWS) % 2
    for i, name in enumerate("gh"):
        here = here.set_column(i, name, pa.array(here.column(name).to_numpy() * odd))
    rules = {
        "filter": "not (s.g = s.h and s.x < s.y)",
        "aggregate": "fd (g) -> z",
        "products": "not (s.g = t.g and s.z != t.z and s.h != t.h)",
        "keyed": "not (s.g = t.g and s.x < t.x and s.y > t.y)",
        "two roles": "not (s.g = t.h and s.x < t.x)",
        "bucket": "not (s.x < t.x and s.y > t.y)",
    }
    expected = local(here, rules)
    found = rowlaw.check(frame, rules, engine="spark", progress=False).counts
    cut = {"cut": rules["keyed"], "cut, two roles": "not (s.g = t.h and s.x < t.x and s.y > t.y)"}
    engine = open_engine(open_source(frame), engine="spark", limits=SparkLimits(task_bytes=8 << 20, buckets=16))
    words = [engine.explain(named.rule).denials[0].count.because for named in rule_set(cut)]
    found |= run(engine, rule_set(cut)).counts
    expected |= local(here, cut)
    wrong = {name: [found[name], expected[name]] for name in expected if found[name] != expected[name]}
    print(json.dumps([holds(LIMIT >> 20), wrong, min(found.values()), words]))
"""


def test_half_of_all_rows_have_one_value(cluster, limited):
    """One rule for each plan; the last ones are cut because the group has more rows than a task may take."""
    too_much, wrong, least, words = cluster.run(SETUP + SKEWED, conf=limited, LIMIT=str(LIMIT))
    assert too_much == "MemoryError", "the limit has no effect"
    assert wrong == {}
    assert least > 10**5, "no rule holds, or the test says little"
    assert all("cut by buckets" in text for text in words), words
