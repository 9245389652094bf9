"""``rowlaw.discover``: a table in, its laws out, the ones worth reading first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rowlaw.discovery.deadline import Deadline
from rowlaw.discovery.denial import Denials, Strategy, discover_denials
from rowlaw.discovery.rank import Rank, broken_shares, fold, rank
from rowlaw.engine.engine import Engine
from rowlaw.errors import RowlawError
from rowlaw.predicates.space import SpaceOptions, operators, predicate_space
from rowlaw.progress import Progress
from rowlaw.relation import Relation, encode
from rowlaw.rules import NamedRule, RuleSet, english
from rowlaw.rules.model import Denial, Kind, Nulls
from rowlaw.source import open_source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KINDS: tuple[Kind, ...] = ("dc",)
NEAR_MISSES = 10
NEAR = 0.001  # share of pairs that break a near miss, at most
EXPLAINED = 200  # rules that come with a reason: nobody reads more


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A rule that nearly holds: a discovered one without one of its predicates."""

    rule: Denial
    violations: int
    error: float


@dataclass(frozen=True, slots=True, repr=False)
class Discovery(RuleSet):
    """Discovered rules, best first, and how they were found. A rule set like any other: check, save, filter."""

    rows: int = 0
    columns: tuple[str, ...] = ()
    predicates: int = 0
    strategy: str = ""
    why: str = ""
    partial: bool = False
    seconds: Mapping[str, float] = field(default_factory=dict)
    total: int = 0  # rules found; `top` may have cut the list
    folded: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # id -> ids of rules that merely restate it
    near_misses: tuple[NearMiss, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The JSON document of ``rowlaw discover --format json``."""
        return {
            "rows": self.rows,
            "columns": list(self.columns),
            "nulls": self.nulls,
            "predicates": self.predicates,
            "strategy": self.strategy,
            "why": self.why,
            "partial": self.partial,
            "seconds": {name: round(value, 3) for name, value in self.seconds.items()},
            "total": self.total,
            "rules": [
                {
                    "id": r.id,
                    "kind": r.kind,
                    "rule": str(r.rule),
                    "predicates": [[str(p.left), p.op.symbol, str(p.right)] for d in r.rule.denials for p in d.predicates],
                    "error": r.error,
                    "support": r.support,
                    "score": r.score,
                    "reason": r.because,
                    "restated_by": list(self.folded.get(r.id, ())),
                }
                for r in self.rules
            ],
            "near_misses": [{"rule": str(m.rule), "violations": m.violations, "error": m.error} for m in self.near_misses],
        }


def discover(
    table: Any,
    *,
    kinds: Sequence[Kind] = KINDS,
    error: float = 0.0,
    top: int | None = None,
    nulls: Nulls = "unknown",
    columns: Sequence[str] | None = None,
    types: Mapping[str, str] | None = None,
    row_id: str | None = None,
    cross: bool = True,
    overlap: float = 0.3,
    order_strings: bool = False,
    single_row: bool = False,
    constants: float | None = None,
    operators_of: Mapping[str, str] | None = None,
    strategy: Strategy = "auto",
    time_limit: float | None = None,
    session: SparkSession | None = None,
    progress: bool = True,
    seed: int = 0,
    **reading: Any,
) -> Discovery:
    """Find all minimal laws that the rows of a table obey, best first.

    Parameters
    ----------
    table
        What :func:`rowlaw.open_source` takes: a path, a Spark DataFrame, any frame with an Arrow C stream.
    kinds
        The kinds of rules to look for.
    error
        The share of ordered pairs of rows that may break a rule (g1). 0: rules without any violation.
    top
        Keep only so many of the best rules. All are found in any case.
    nulls
        ``"unknown"``: a comparison with null is never true. ``"equal"``: null equals null and sorts before everything.
    columns, types, row_id, reading
        As in :func:`rowlaw.check`.
    cross, overlap, order_strings, single_row, constants, operators_of
        The predicate space; see :class:`rowlaw.predicates.SpaceOptions`. ``operators_of={"zip": "= !="}`` restricts a column.
    strategy
        ``"pairs"`` compares all pairs of distinct rows, ``"sample"`` a few and lets the engine check the rules; ``"auto"`` estimates
        which is faster. Both find the same rules.
    time_limit
        Seconds after which what is proven so far is returned, marked as ``partial``. Ctrl-C does the same.

    Examples
    --------
    >>> import pyarrow as pa
    >>> cities = ["Hoboken", "Hoboken", "New York", "New York"]
    >>> table = pa.table({"zip": ["07030", "07030", "10001", "10001"], "city": cities, "age": [1, 2, 3, 4]})
    >>> rules = discover(table, progress=False)
    >>> [str(r.rule) for r in rules][:2]
    ['not (s.city = t.city and s.zip != t.zip)', 'not (s.zip = t.zip and s.city != t.city)']
    """
    for kind in kinds:
        if kind not in KINDS:
            raise RowlawError("BAD_OPTION", option="kinds", value=kind, problem=f"use {', '.join(KINDS)}")
    if not 0 <= error < 1:
        raise RowlawError("BAD_OPTION", option="error", value=error, problem="a share, 0 or more and less than 1")
    if strategy not in ("auto", "pairs", "sample"):
        raise RowlawError("BAD_OPTION", option="strategy", value=strategy, problem="use auto, pairs or sample")
    chosen = {name: operators(text) for name, text in (operators_of or {}).items()}
    options = SpaceOptions(None, chosen, cross, overlap, order_strings, single_row, constants)
    shown = Progress(quiet=not progress)
    deadline = Deadline.after(time_limit)
    with shown.phase("read"):
        relation = encode(open_source(table, columns=columns, types=types, session=session, **reading), row_id=row_id, session=session)
    with relation:
        return run(
            relation,
            options,
            nulls=nulls,
            error=error,
            top=top,
            strategy=strategy,
            deadline=deadline,
            progress=shown,
            seed=seed,
            session=session,
        )


def run(
    relation: Relation,
    options: SpaceOptions,
    *,
    nulls: Nulls = "unknown",
    error: float = 0.0,
    top: int | None = None,
    strategy: Strategy = "auto",
    deadline: Deadline | None = None,
    progress: Progress | None = None,
    seed: int = 0,
    session: SparkSession | None = None,
) -> Discovery:
    """Discover on a relation that is encoded already."""
    shown = progress or Progress(quiet=True)
    limit = deadline or Deadline()
    engine = Engine(relation, nulls, session)
    space = predicate_space(relation, options)
    with limit.interruptible():
        found = discover_denials(engine, space, error=error, strategy=strategy, deadline=limit, progress=shown, seed=seed)
    with shown.phase("rank"):
        return _ranked(found, engine, len(space), error, top, options, shown)


def _ranked(
    found: Denials, engine: Engine, predicates: int, error: float, top: int | None, options: SpaceOptions, shown: Progress
) -> Discovery:
    relation = engine.relation
    pairs = relation.rows * (relation.rows - 1)
    ranks = rank(found.denials, found.atoms, found.evidence, pairs)
    order = sorted(range(len(ranks)), key=lambda i: (-ranks[i].score, i))
    into = {order[i]: order[j] for i, j in enumerate(fold([found.denials[i] for i in order])) if j is not None}
    order = [i for i in order if i not in into] + [i for i in order if i in into]  # what restates another is not worth a place before it
    kept = order if top is None else order[:top]
    errors = _errors(found, error, pairs)
    named = tuple(_named(n, found.denials[i], ranks[i], errors.get(found.denials[i], 0.0)) for n, i in enumerate(kept, 1))
    id_of = {i: rule.id for i, rule in zip(kept, named, strict=True)}
    folded: dict[str, tuple[str, ...]] = {}
    for i in kept:
        if i in into and into[i] in id_of:
            folded[id_of[into[i]]] = (*folded.get(id_of[into[i]], ()), id_of[i])
    return Discovery(
        named,
        engine.nulls,
        _settings(options, error),
        rows=relation.rows,
        columns=tuple(c.name for c in relation.columns),
        predicates=predicates,
        strategy=found.strategy,
        why=found.why,
        partial=found.partial,
        total=len(order),
        folded=folded,
        near_misses=_near_misses(found, [found.denials[i] for i in order[: 5 * NEAR_MISSES]], engine, pairs),
        seconds=shown.seconds,
    )


def _settings(options: SpaceOptions, error: float) -> dict[str, Any]:
    names = ("cross", "overlap", "order_strings", "single_row", "constants")
    return {**{name: getattr(options, name) for name in names}, "error": error}


def _named(number: int, denial: Denial, facts: Rank, error: float) -> NamedRule:
    because = f"{english(denial)} {facts.reason(denial)}" if number <= EXPLAINED else None
    return NamedRule(f"R{number}", denial, because=because, error=error, support=facts.support, score=facts.score)


def _errors(found: Denials, error: float, pairs: int) -> dict[Denial, float]:
    """Exact shares of violating pairs, from the evidence of all pairs; exact rules have none."""
    if not error or not pairs:
        return {}
    edges = found.atoms.edges(found.evidence.signatures)
    missed = {}
    for members, denial in zip(found.sets, found.atoms.denials(found.sets), strict=True):
        hit = ((edges & members) != 0).any(axis=1)
        missed[denial] = float(found.evidence.counts[~hit].sum() / pairs)
    return missed


def _near_misses(found: Denials, denials: Sequence[Denial], engine: Engine, pairs: int) -> tuple[NearMiss, ...]:
    """The best rules without one of their predicates, those that fewest pairs break: what nearly holds, or would in cleaner data.

    The evidence says which are worth counting; the engine counts.
    """
    if pairs < 1:
        return ()
    shorter = list(
        {Denial(d.predicates[:i] + d.predicates[i + 1 :]): None for d in denials for i in range(len(d.predicates)) if len(d.predicates) > 1}
    )
    seen = [
        (share, d)
        for d, share in zip(shorter, broken_shares(shorter, found.atoms, found.evidence), strict=True)
        if share < NEAR and d.arity == 2
    ]
    likely = [d for _, d in sorted(seen, key=lambda pair: (pair[0], str(pair[1])))[: 2 * NEAR_MISSES]]
    counts = engine.count(likely, per_row=False)
    broken = sorted((c.pairs, str(d), d) for d, c in zip(likely, counts, strict=True) if c.pairs and c.pairs / pairs < NEAR)
    return tuple(NearMiss(d, n, n / pairs) for n, _, d in broken[:NEAR_MISSES])
