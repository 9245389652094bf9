"""The torture's cases on Spark: none fails, and a wrong answer is found."""

import pytest

from tests.torture import spark as torture


def test_a_stack_and_a_table_of_its_own(spark, monkeypatch):
    assert [torture.size(number) for number in (1, 2)] == [torture.STACKED, 1]
    monkeypatch.setattr(torture, "STACKED", 5)
    for number in (1, 2):
        assert torture.problems(spark, number) == []
    monkeypatch.setattr(torture.naive, "violations", lambda *_: range(1000))
    for number in (1, 2):
        assert torture.problems(spark, number)


@pytest.mark.parametrize("number", [5, 9, 13, 17])
def test_fifty_tables_to_a_check(quick_spark, number):
    assert torture.size(number) == 50
    assert torture.problems(quick_spark, number) == []
