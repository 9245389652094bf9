"""``rowlaw.explain``: everything there is to say about one rule on one table.

Where it ranks among the laws of the table and why, whether it holds, what breaks it, which rows would have to go, what each of its
comparisons does, how it is checked, and what it is in words and in SQL.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rowlaw.discovery.atoms import Atoms
from rowlaw.discovery.deadline import Deadline
from rowlaw.discovery.discover import run as discover_run
from rowlaw.discovery.rank import WEIGHTS, Rank, rank, same_column_evidence
from rowlaw.discovery.together import most_specific
from rowlaw.engine.engine import Engine, Found
from rowlaw.errors import RowlawError, nearest
from rowlaw.evidence.evidence import EvidenceSet
from rowlaw.evidence.tiles import all_pairs, evidence_of_pairs
from rowlaw.predicates.space import SpaceOptions
from rowlaw.progress import Progress
from rowlaw.relation import Relation, encode
from rowlaw.rules import NamedRule, Nulls, RuleSet, bind, english, implies, sql
from rowlaw.rules.model import Denial, Kind, Op, Predicate, Rule
from rowlaw.source import open_source
from rowlaw.violations.check import rule_set
from rowlaw.violations.check import run as check_run
from rowlaw.violations.removal import LISTED, Removal, rows_to_remove
from rowlaw.violations.sides import Clash

FEW_ROWS = 5_000  # all their pairs are looked at for ranking a denial constraint
RANDOM_PAIRS = 20_000  # looked at otherwise
SHOWN_ROWS = 10  # rows to remove that are named
STRONGER = 3  # rules named of those that say more


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
    found: Found = field(repr=False)
    rank: Rank | None
    place: int | None  # among `total` rules, from 1
    total: int
    stronger: tuple[NamedRule, ...]  # rules of the list that say this and more
    clashes: tuple[Clash, ...]
    removal: Removal
    removed_labels: tuple[Any, ...]
    shorter: tuple[Shorter, ...]
    plan: str
    sql: str
    partial: bool = False  # the list of rules was cut by a time limit

    @property
    def holds(self) -> bool:
        return not self.found.pairs

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
            "violations": self.found.pairs,
            "rows": len(self.found.rows),
            "place": self.place,
            "total": self.total,
            "partial": self.partial,
            "rank": None
            if facts is None
            else {
                "score": facts.score,
                **{name: round(getattr(facts, name), 6) for name in WEIGHTS},
                "expected": facts.expected,
                "support": facts.support,
                "reason": facts.reason(self.rule.denials[0]),
            },
            "implied_by": [{"id": r.id, "rule": str(r.rule)} for r in self.stronger],
            "remove": {"rows": len(self.removal), "exact": self.removal.exact, "some": list(self.removed_labels)},
            "near_misses": [
                {"rule": str(s.rule), "without": s.dropped, "violations": s.violations, "remove": s.removal, "exact": s.exact}
                for s in self.shorter
            ],
            "plan": self.plan,
            "sql": self.sql,
        }


def explain(
    table: Any,
    rule: str | Rule | NamedRule,
    *,
    rules: Any = None,
    kinds: tuple[Kind, ...] = ("key", "fd", "od", "dc"),
    nulls: Nulls | None = None,
    row_id: str | None = None,
    columns: list[str] | None = None,
    types: Mapping[str, str] | None = None,
    time_limit: float | None = 60.0,
    sample: int = 3,
    session: Any = None,
    progress: bool = True,
    **reading: Any,
) -> Explanation:
    """Why a rule ranks where it does, what breaks it, which rows would have to go, how it is checked, and what it means.

    Parameters
    ----------
    table, nulls, row_id, columns, types, reading
        As in :func:`rowlaw.check`.
    rule
        A rule, its text, or the id of one of ``rules``.
    rules
        The rules it is ranked among: a rule set or the path of a rule file. By default those that :func:`rowlaw.discover` finds in
        ``time_limit`` seconds.
    kinds
        Of rules to discover, when none are given.
    sample
        How many violations to show.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"zip": [1, 1, 1, 2], "city": ["Hoboken", "Hobken", "Hoboken", "New York"]})
    >>> found = explain(table, "fd (zip) -> city", progress=False)
    >>> found.found.pairs, found.removed_labels, found.removal.exact
    (4, (1,), True)
    """
    shown = Progress(quiet=not progress)
    known = rule_set(rules, nulls) if rules is not None else None
    wanted = nulls or (known.nulls if known is not None else "unknown")
    with shown.phase("read"):
        relation = encode(open_source(table, columns=columns, types=types, session=session, **reading), row_id=row_id, session=session)
    with relation:
        given = _named(rule, known)
        if given is not None:
            bind(given.origin or given.rule, relation.types)  # a bad rule is an error before anything runs
        partial = False
        if known is None:
            deadline = Deadline.after(time_limit)
            found = discover_run(relation, SpaceOptions(), kinds=kinds, nulls=wanted, deadline=deadline, progress=shown, session=session)
            known, partial = found, found.partial
            given = given or known[str(rule)]
        assert given is not None
        return run(relation, given, known, nulls=wanted, sample=sample, partial=partial, session=session)


def run(
    relation: Relation,
    named: NamedRule,
    known: RuleSet,
    *,
    nulls: Nulls = "unknown",
    sample: int = 3,
    partial: bool = False,
    session: Any = None,
) -> Explanation:
    """Explain a rule on a relation that is encoded already, among rules that are known."""
    result = check_run(relation, RuleSet((named,), nulls), session=session)
    (verdict,) = result.verdicts
    engine, rule, found = result.engine, verdict.rule, verdict.found
    place = next((n for n, other in enumerate(known, 1) if other.rule == rule), None)
    removal = rows_to_remove(engine, rule, found)
    return Explanation(
        named if place is None else known.rules[place - 1],
        rule,
        nulls,
        relation.rows,
        found,
        _rank(engine, rule, exact=place is None),
        place,
        len(known),
        _stronger(rule, known),
        tuple(result.side_by_side(verdict.id, sample)) if found.pairs else (),
        removal,
        tuple(relation.row_labels(removal.rows[:SHOWN_ROWS]).to_pylist()),
        _shorter(engine, rule),
        engine.explain(rule),
        query(relation, rule, nulls),
        partial,
    )


def query(relation: Relation, rule: Rule, nulls: Nulls) -> str:
    """The rule as SQL on a table called ``table``."""
    floats = frozenset(c.name for c in relation.columns if str(c.arrow_type) == "double")
    return sql(rule, "table", nulls=nulls, floats=floats)


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
    """Whether a text names a rule rather than being one: every rule has a bracket in it."""
    return not set(text) & set("({[") and " " not in text.strip()


def _rank(engine: Engine, rule: Rule, *, exact: bool) -> Rank | None:
    """The rank of a rule, judged by the pairs that discovery looks at too; ``exact``: as if no pair broke it."""
    rows = engine.relation.rows
    if len(rule.denials) != 1 or rows < 2:
        return None
    (denial,) = rule.denials
    evidence = same_column_evidence(engine) if rule.kind != "dc" else _evidence(engine, denial)
    return rank([denial], *evidence, rows * (rows - 1), exact=exact)[0]


def _evidence(engine: Engine, denial: Denial) -> tuple[Atoms, EvidenceSet]:
    """What all pairs of a small table, or random pairs of a large one, say about the comparisons of one rule."""
    operands = {(p.left, p.right) for q in denial.predicates for p in (q, q.exchanged)}
    space = [Predicate(left, op, right) for left, right in sorted(operands, key=str) for op in Op]
    atoms = Atoms.of(engine.relation, space, engine.nulls)
    rows = engine.relation.rows
    if rows <= FEW_ROWS:
        return atoms, all_pairs(atoms.slots)
    s, t = np.random.default_rng(0).integers(0, rows, (2, RANDOM_PAIRS))
    s, t = s[s != t], t[s != t]
    one_way = evidence_of_pairs(atoms.slots, s, t)
    both = np.concatenate((one_way, atoms.slots.reverse(one_way)))
    return atoms, EvidenceSet.of(both, np.ones(len(both), np.int64))


def _stronger(rule: Rule, known: RuleSet) -> tuple[NamedRule, ...]:
    """The first rules of the list that imply this one, which therefore is not listed."""
    found = []
    for other in known:
        if other.rule != rule and all(any(implies(d, mine) for d in other.rule.denials) for mine in rule.denials):
            found.append(other)
            if len(found) == STRONGER:
                break
    return tuple(found)


def _shorter(engine: Engine, rule: Rule) -> tuple[Shorter, ...]:
    """The rule without each of its comparisons in turn, those that fewest pairs break first."""
    if len(rule.denials) != 1 or len(rule.denials[0].predicates) < 2:
        return ()
    predicates = rule.denials[0].predicates
    without = [(str(p), Denial(predicates[:i] + predicates[i + 1 :])) for i, p in enumerate(predicates)]
    shorter = [most_specific(denial) for _, denial in without]
    found = []
    for (dropped, _), law, counted in zip(without, shorter, engine.count(shorter), strict=True):
        quick = law.kind != "dc" or counted.pairs <= LISTED or law.denials[0].arity == 1
        removal = rows_to_remove(engine, law, counted) if quick else None
        found.append(Shorter(law, dropped, counted.pairs, None if removal is None else len(removal), removal is None or removal.exact))
    return tuple(sorted(found, key=lambda s: s.violations))
