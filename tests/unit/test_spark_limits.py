"""How much memory a Python worker has is read off Spark's settings."""

import pytest

from rowlaw.engine.spark import limits
from rowlaw.engine.spark.limits import LEAST_TASK_BYTES, MOST_TASK_BYTES, UNKNOWN_TASK_BYTES, task_bytes, worker_memory

MIB, GIB = 1 << 20, 1 << 30


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"spark.master": "yarn"}, 384 * MIB),
        (
            {"spark.master": "yarn", "spark.executor.memory": "16g", "spark.executor.cores": "4"},
            int(16 * GIB * 0.1) // 4,
        ),
        (
            {"spark.master": "yarn", "spark.executor.memory": "16g", "spark.executor.memoryOverheadFactor": "0.5"},
            8 * GIB,
        ),
        ({"spark.master": "yarn", "spark.executor.memoryOverhead": "2048", "spark.executor.cores": "2"}, GIB),
        ({"spark.master": "k8s://host", "spark.executor.memory": "8g"}, int(8 * GIB * 0.4)),
        ({"spark.master": "spark://host:7077", "spark.executor.memory": "700m"}, None),  # limits the Java heap only
        ({"spark.master": "spark://host:7077", "spark.executor.memoryOverhead": "1g"}, GIB // 8),
        (
            {"spark.master": "spark://host:7077", "spark.executor.memoryOverhead": "1g", "spark.executor.cores": "1"},
            GIB,
        ),
        ({"spark.master": "local-cluster[2, 3, 1024]"}, 384 * MIB // 3),
        ({"spark.master": "local[4]", "spark.driver.memory": "2g"}, 3 * GIB // 4),
        ({"spark.master": "local[*, 2]", "spark.driver.memory": "2g"}, 3 * GIB // 2),
        ({"spark.master": "local"}, int(3.5 * GIB)),
        ({"spark.master": "local[2]", "spark.executor.pyspark.memory": "1g"}, GIB // 2),
        ({"spark.master": "yarn", "spark.executor.pyspark.memory": "3g", "spark.executor.cores": "3"}, GIB),
        ({}, None),
    ],
)
def test_memory_of_a_worker(monkeypatch, settings, expected):
    monkeypatch.setattr(limits, "machine_memory", lambda: 8 * GIB)
    monkeypatch.setattr(limits, "cores", lambda: 2)
    assert worker_memory(settings.get, 8) == expected


def test_rows_of_a_task_follow_from_it():
    def of(memory):
        return task_bytes({"spark.master": "yarn", "spark.executor.pyspark.memory": memory}.get, 4)

    assert of("896m") == 128 * MIB
    assert of("100m") == LEAST_TASK_BYTES
    assert of("64g") == MOST_TASK_BYTES
    assert task_bytes({}.get, 4) == UNKNOWN_TASK_BYTES


def test_a_setting_that_cannot_be_read_is_not_an_error():
    class Session:
        class conf:  # noqa: N801 - as Spark calls it
            @staticmethod
            def get(name, default):
                if "pyspark" in name:
                    raise RuntimeError("not on this platform")
                return {"spark.executor.memory": "lots", "spark.master": "yarn"}.get(name, default)

    assert limits.limits_of(Session()).task_bytes == UNKNOWN_TASK_BYTES
