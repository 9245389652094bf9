"""``rowlaw explain``: what it prints."""

from __future__ import annotations

from rowlaw.engine.engine import Engine
from rowlaw.errors import RowlawError
from rowlaw.relation import encode
from rowlaw.rules import Nulls, bind, english, sql
from rowlaw.rules.parse import parse_located
from rowlaw.source import open_source


def run(text: str, source: str | None, *, plan: bool, nulls: Nulls) -> None:
    parsed = parse_located(text)
    if plan and source is None:
        raise RowlawError("BAD_OPTION", option="--plan", value=True, problem="a plan depends on the table: give --source")
    print(f"rule:     {parsed.rule}")
    print(f"in words: {english(parsed.rule)}")
    for denial in parsed.rule.denials:
        print(f"denial:   {denial}")
    if source is None:
        print("sql:")
        print(sql(parsed.rule, "table", nulls=nulls))
        return
    with encode(open_source(source)) as relation:
        rule = bind(parsed, relation.types)
        print("sql:")
        floats = frozenset(c.name for c in relation.columns if str(c.arrow_type) == "double")
        print(sql(rule, "table", nulls=nulls, floats=floats))
        if plan:
            print("plan:")
            print(Engine(relation, nulls).explain(rule))
