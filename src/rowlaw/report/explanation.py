"""``rowlaw.explain``: everything there is to say about one rule on one table.

Whether it holds, what breaks it, which rows would have to go, what each of its comparisons does, how it is checked,
what it is in words and in SQL, and, among rules that are given, where it ranks and why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from rowlaw.deadline import Deadline
from rowlaw.discovery.budget import Budget
from rowlaw.discovery.discover import KINDS
from rowlaw.discovery.discover import run as discover_run
from rowlaw.discovery.judged import Judged, judged
from rowlaw.discovery.together import most_specific
from rowlaw.discovery.vacuous import not_vacuous
from rowlaw.engine.answers import Removal, RuleCount
from rowlaw.engine.open import open_local
from rowlaw.engine.plans import RulePlan
from rowlaw.engine.protocol import DiscoveryEngine
from rowlaw.errors import RowlawError, check_parameters, nearest
from rowlaw.export.target import Plan
from rowlaw.predicates.space import SpaceOptions
from rowlaw.progress import Progress
from rowlaw.rules import NamedRule, Nulls, RuleSet, bind, english, implies
from rowlaw.rules.conditions import Condition
from rowlaw.rules.model import Denial, Kind, Rule
from rowlaw.source import READING, open_source
from rowlaw.source.row_ids import RowId, id_columns
from rowlaw.violations.check import known_types, rule_set
from rowlaw.violations.check import run as check_run
from rowlaw.violations.sides import Clash

_SHOWN_ROWS = 10  # rows to remove that are named
_STRONGER = 3  # rules named of those that say more
LISTED = 1 << 20  # violations of a rule without one of its comparisons, above which its rows to remove are not sought


@dataclass(frozen=True, slots=True)
class Shorter:
    """The rule without one of its comparisons: what that comparison is for."""

    rule: Rule
    dropped: str
    violations: int
    removal: int | None  # rows without which it would hold; None: too many violations to say
    exact: bool


@dataclass(frozen=True)
class Explanation:
    """One rule on one table; ``print`` it."""

    named: NamedRule
    rule: Rule  # as bound to the table
    nulls: Nulls
    rows: int
    count: RuleCount
    rank: Judged | None
    place: int | None  # among `total` rules, from 1
    total: int
    stronger: tuple[NamedRule, ...]  # rules of the list that say this and more
    clashes: tuple[Clash, ...]
    removal: Removal
    shorter: tuple[Shorter, ...]
    plan: RulePlan
    sql: str
    partial: bool = False  # the list of rules was cut by a time limit
    vacuous: bool = False  # no rows could break it, whatever their values: then it is not listed

    @property
    def holds(self) -> bool:
        return not self.count.pairs

    def to_dict(self) -> dict[str, Any]:
        """The JSON document of ``rowlaw explain --format json``."""
        facts = self.rank
        return {
            "id": self.named.id,
            "kind": self.rule.kind,
            "rule": str(self.rule),
            "sentence": english(self.rule),
            "denials": [str(d) for d in self.rule.denials],
            "nulls": self.nulls,
            "table_rows": self.rows,
            "violations": self.count.pairs,
            "rows": self.count.rows,
            "place": self.place,
            "total": self.total,
            "partial": self.partial,
            "rank": None if facts is None else {"score": self.named.score, **facts.to_dict()},
            "implied_by": [{"id": r.id, "rule": str(r.rule)} for r in self.stronger],
            "remove": {"rows": self.removal.count, "exact": self.removal.exact, "some": list(self.removal.first)},
            "near_misses": [
                {
                    "rule": str(s.rule),
                    "without": s.dropped,
                    "violations": s.violations,
                    "remove": s.removal,
                    "exact": s.exact,
                }
                for s in self.shorter
            ],
            "plan": self.plan.to_dict(),
            "sql": self.sql,
        }


def explain(
    table: Any,
    rule: str | Rule | NamedRule,
    *,
    rules: Any = None,
    kinds: tuple[Kind, ...] = ("key", "fd", "od", "dc"),
    nulls: Nulls | None = None,
    row_id: RowId = None,
    columns: list[str] | None = None,
    types: Mapping[str, str] | None = None,
    time_limit: float | None = 60.0,
    sample: int = 3,
    session: Any = None,
    progress: bool = True,
    **reading: Any,
) -> Explanation:
    """What breaks a rule, which rows would have to go, how it is checked, what it means, and where it ranks among
    ``rules``.

    Parameters
    ----------
    table, nulls, row_id, columns, types, reading
        As in :func:`rowlaw.check`.
    rule
        A rule, its text, or the id of one of ``rules``.
    rules
        The rules it is ranked among: a rule set or the path of a rule file. Without them it is not ranked, and the
        answer comes at once.
    kinds, time_limit
        Of the discovery that gives a meaning to the id of a rule, where ``rules`` do not.
    sample
        How many violations to show.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"zip": [1, 1, 1, 2], "city": ["Hoboken", "Hobken", "Hoboken", "New York"]})
    >>> found = explain(table, "fd (zip) -> city", progress=False)
    >>> found.count.pairs, found.removal
    (4, Removal(count=1, exact=True, first=(1,)))
    """
    check_parameters(explain, reading, READING)
    shown = Progress(quiet=not progress)
    known = rule_set(rules, nulls) if rules is not None else None
    wanted = nulls or (known.nulls if known is not None else "unknown")
    source = open_source(table, columns=columns, types=types, session=session, **reading)
    given = _named(rule, known)
    if given is not None:
        # a bad rule is an error before anything runs
        bind(given.origin or given.rule, known_types(source), source.skipped)
        if known is None:  # nothing else is asked of the table
            used = dict.fromkeys(
                (*given.rule.columns, *(name for name in id_columns(row_id) if name in source.columns))
            )
            source = replace(source, schema=pa.schema([source.schema.field(name) for name in used]))
    with shown.phase("read"):
        engine = open_local(source, wanted, row_id=row_id, session=session)
    try:
        partial = False
        if given is None:  # an id that discovery gives a meaning
            limit = Budget.of(Deadline.after(time_limit), several=len(kinds) > 1, complete=False, cells=0)
            default = set(kinds) == set(KINDS)
            space = SpaceOptions(overlap=None) if len(kinds) > 1 else SpaceOptions()
            discovery = discover_run(engine, space, kinds=kinds, budget=limit, default=default, progress=shown)
            known, partial, given = discovery, discovery.partial, discovery[str(rule)]
        with shown.phase("explain"):
            return run(engine, given, known, sample=sample, partial=partial)
    finally:
        engine.close()


def run(
    engine: DiscoveryEngine, named: NamedRule, known: RuleSet | None = None, *, sample: int = 3, partial: bool = False
) -> Explanation:
    """Explain a rule on a table that is open already; its place in a ranking only among rules that are known."""
    result = check_run(engine, RuleSet((named,), engine.nulls))
    (verdict,) = result.verdicts
    rule = verdict.rule
    listed = known if known is not None else RuleSet()
    place = next((n for n, other in enumerate(listed, 1) if other.rule == rule), None)
    return Explanation(
        named if place is None else listed.rules[place - 1],
        rule,
        engine.nulls,
        engine.rows,
        verdict.count,
        _rank(engine, rule, exact=not verdict.violations) if known is not None else None,
        place,
        len(listed),
        _stronger(rule, listed),
        tuple(result.side_by_side(verdict.id, sample)) if verdict.violations else (),
        result.rows_to_remove(verdict.id, _SHOWN_ROWS),
        _shorter(engine, rule),
        engine.explain(rule),
        query(engine, rule),
        partial,
        not not_vacuous(rule.denials, engine.known_rows),
    )


def query(engine: DiscoveryEngine, rule: Rule) -> str:
    """The rule as SQL on a table called ``table``: groups for keys and functional dependencies, else pairs of rows, or
    rows."""
    floats = frozenset(c.name for c in engine.statistics.columns if str(c.arrow_type) == "double")
    return Plan(RuleSet(nulls=engine.nulls), "table", floats=floats).query(rule)


def _named(rule: str | Rule | NamedRule, known: RuleSet | None) -> NamedRule | None:
    """The rule that is meant; None: an id that discovery has to give a meaning."""
    if not isinstance(rule, str):
        return next(iter(RuleSet.of(rule)))
    if known is not None and rule in known:
        return known[rule]
    if looks_like_an_id(rule):
        if known is not None:
            raise RowlawError("UNKNOWN_RULE", id=rule, hint=nearest(rule, [r.id for r in known]))
        return None
    return next(iter(RuleSet.of({"rule": rule})))


def looks_like_an_id(text: str) -> bool:
    """Whether a text names a rule rather than being one: every rule has a bracket, a sign or a blank in it.

    >>> looks_like_an_id("R7"), looks_like_an_id("s.year>1900")
    (True, False)
    """
    return not set(text.strip()) & set("({[<>=!≤≥≠ ")


def _rank(engine: DiscoveryEngine, rule: Rule, *, exact: bool) -> Judged | None:
    """What speaks for a rule; None for rules that discovery does not make."""
    if (
        len(rule.denials) != 1
        or engine.rows < 2
        or any(isinstance(p.right, Condition) for p in rule.denials[0].predicates)
    ):
        return None
    return judged(engine, rule, exact=exact)


def _stronger(rule: Rule, known: RuleSet) -> tuple[NamedRule, ...]:
    """The first rules of the list that imply this one, which therefore is not listed."""
    stronger = []
    for other in known:
        if other.rule != rule and all(any(implies(d, mine) for d in other.rule.denials) for mine in rule.denials):
            stronger.append(other)
            if len(stronger) == _STRONGER:
                break
    return tuple(stronger)


def _shorter(engine: DiscoveryEngine, rule: Rule) -> tuple[Shorter, ...]:
    """The rule without each of its comparisons in turn, those that fewest pairs break first."""
    if len(rule.denials) != 1 or len(rule.denials[0].predicates) < 2:
        return ()
    predicates = rule.denials[0].predicates
    without = [(str(p), Denial(predicates[:i] + predicates[i + 1 :])) for i, p in enumerate(predicates)]
    shorter = [most_specific(denial) for _, denial in without]
    findings = engine.check(shorter)
    without_one = []
    for number, ((dropped, _), law, count) in enumerate(zip(without, shorter, findings.counts, strict=True)):
        quick = law.kind != "dc" or count.pairs <= LISTED or law.denials[0].arity == 1
        removal = findings.rows_to_remove(number, 0) if quick else None
        without_one.append(
            Shorter(
                law, dropped, count.pairs, None if removal is None else removal.count, removal is None or removal.exact
            )
        )
    return tuple(sorted(without_one, key=lambda s: s.violations))
