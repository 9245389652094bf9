"""Suspects, by example: who is contradicted, who is confirmed, and which dependencies have no vote."""

import json

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import rowlaw
from rowlaw.cli.app import app


def table(**columns):
    return pa.table(columns)


def cells(found):
    return [(cell["row"], cell["column"], cell["value"], cell["usual"]) for cell in found.to_pylist()]


ZIPS = [1] * 4 + [2] * 4 + [3] * 4


def test_the_odd_one_of_a_group_is_suspect():
    found = rowlaw.check(
        table(zip=ZIPS, city=[*"aaxa", *"bbbb", *"cccc"]), "fd (zip) -> city", progress=False
    ).suspects()
    assert cells(found) == [(2, "city", "x", "a")]


@pytest.mark.parametrize("group", ["aaxx", "aaax", "aax"])
def test_a_group_that_is_at_odds_accuses_nobody_unless_three_in_four_agree(group):
    places = [1] * len(group) + [2] * 4
    found = rowlaw.check(table(zip=places, city=[*group, *"bbbb"]), "fd (zip) -> city", progress=False).suspects()
    assert found.num_rows == (group == "aaax")


def test_what_another_dependency_confirms_is_no_suspect():
    # a second shop in one street: its phone number says that the name is right
    shops = table(street=[1] * 4 + [2] * 4, phone=[7, 7, 7, 8, 8, 9, 9, 9], name=[*"aaab", *"bccc"])
    alone = rowlaw.check(shops, ["fd (street) -> name"], progress=False).suspects()
    both = rowlaw.check(shops, ["fd (street) -> name", "fd (phone) -> name"], progress=False).suspects()
    assert cells(alone) == [(3, "name", "b", "a"), (4, "name", "b", "c")]
    assert cells(both) == []


def test_a_missing_value_is_suspect_if_null_is_a_value():
    people = table(zip=ZIPS, city=[*"aa", None, *"a", *"bbbb", *"cccc"])
    assert cells(rowlaw.check(people, "fd (zip) -> city", nulls="equal", progress=False).suspects()) == [
        (2, "city", None, "a")
    ]
    assert cells(rowlaw.check(people, "fd (zip) -> city", progress=False).suspects()) == []


def test_rows_are_called_by_their_id_and_values_are_text():
    days = table(id=["p", "q", "r", "s", "t"], week=[1, 1, 1, 1, 2], month=[3, 3, 3, 4, 4])
    found = rowlaw.check(days, "fd (week) -> month", row_id="id", progress=False).suspects()
    assert cells(found) == [("s", "month", "4", "3")]


def test_learnt_dependencies_must_say_more_than_chance():
    # nearly all rows have one kind, whatever their group: that is no law about the others
    groups = [n // 10 for n in range(200)]
    kinds = ["odd" if n % 40 == 0 else "plain" for n in range(200)]
    towns = [f"town {group}" for group in groups]
    towns[17] = "twon 1"
    dirty = table(group=groups, kind=kinds, town=towns)
    laws = rowlaw.discover(dirty, kinds=("fd",), error=0.05, progress=False)
    assert {"fd () -> kind", "fd (group) -> town"} <= {str(r.rule) for r in laws}
    assert cells(rowlaw.check(dirty, laws, progress=False).suspects()) == [(17, "town", "twon 1", "town 1")]
    by_hand = rowlaw.check(dirty, ["fd (group) -> kind"], progress=False).suspects()  # taken at its word
    assert by_hand.num_rows == kinds.count("odd")


def test_other_rules_have_no_vote():
    found = rowlaw.check(table(a=[1, 1, 2], b=[1, 2, 3]), ["key (a)", "od {}: a ~ b desc"], progress=False).suspects()
    assert found.num_rows == 0
    assert found.column_names == ["row", "column", "value", "usual", "against", "backing", "confidence"]


def test_the_command_line_shows_as_many_as_are_asked_for(tmp_path):
    file = tmp_path / "people.csv"
    file.write_text("zip,city\n" + "".join(f"{zip},{city}\n" for zip, city in zip(ZIPS, "aaxabbbbccyc", strict=True)))
    command = ["check", str(file), "--rule", "fd (zip) -> city", "--quiet"]
    shown = {n: CliRunner().invoke(app, [*command, "--suspects", str(n)]).stdout for n in (0, 1, 5)}
    assert "probably wrong" not in shown[0]
    assert "2    city    x      a      1        0" in shown[1]
    assert "10" not in shown[1].partition("probably wrong")[2].partition("rows;")[0]
    assert "10   city    y      c      1        0" in shown[5]
    told = json.loads(CliRunner().invoke(app, [*command, "--format", "json", "--suspects", "5"]).stdout)
    assert [(cell["row"], cell["usual"]) for cell in told["suspects"]] == [(2, "a"), (10, "c")]
    assert "suspects" not in json.loads(CliRunner().invoke(app, [*command, "--format", "json"]).stdout)
