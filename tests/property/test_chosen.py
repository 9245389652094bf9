"""Chosen rules of any kind on nasty tables: after every batch each is counted exactly, and what is saved and read again
goes on."""

from hypothesis import given, settings
from hypothesis import strategies as st

from rowlaw.maintain import chosen
from rowlaw.maintain.chosen import ChosenRules
from rowlaw.maintain.protocol import UpkeepOptions
from rowlaw.predicates.space import compared_columns, predicates_of
from rowlaw.progress import Progress
from rowlaw.rules import RuleSet
from tests import naive
from tests.property.test_upkeep import Memory, grown, histories, play
from tests.strategies import nulls, rules


@st.composite
def cases(draw):
    history = draw(histories(max_rows=14, max_columns=4, types=("integer", "float", "text", "date")))
    return history, draw(st.lists(rules(history[0]), min_size=1, max_size=3))


@settings(max_examples=150)
@given(case=cases(), meaning=nulls(), scanned=st.sampled_from([chosen.SCANNED, -1]))
def test_counts_are_exact(case, meaning, scanned):
    history, wanted = case
    known = RuleSet.of(wanted, nulls=meaning)
    scales = compared_columns(predicates_of(named.rule for named in known))
    saved, chosen.SCANNED = chosen.SCANNED, scanned
    made = []

    def start(table):
        growing = grown(table, scales=scales)
        made.append(ChosenRules.create(growing, UpkeepOptions(nulls=meaning, rules=known), Progress(quiet=True)))
        assert made[0].counts == _expected(known, table, meaning)
        return growing

    def follow(growing, taken, table):
        before = made[0].counts
        made[0].apply(growing, taken.inserted, taken.deleted)
        assert made[0].counts == _expected(known, table, meaning)
        for id, change in made[0].changes.items():
            assert before[id] + change.new - change.resolved == change.violations
            for pairs in (change.new_pairs, change.resolved_pairs):
                for pair in pairs:
                    values = growing.decode(list(dict.fromkeys(pair))).to_pydict()
                    assert naive.violations(known[id].rule, values, meaning)
        made[0]._check(growing)
        memory = Memory()
        made[0].save(memory)
        made[0] = ChosenRules.load(memory, growing)
        made[0]._check(growing)

    try:
        play(*history, start, follow)
    finally:
        chosen.SCANNED = saved


def _expected(known, table, meaning):
    return {named.id: naive.count(named.rule, table.values, meaning) for named in known}
