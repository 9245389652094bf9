"""Rules with ids, and ordered sets of them with the settings under which they were made.

>>> rules = RuleSet.of({"one_city": "fd (zip) -> city", "K": "key (id)"})
>>> rules
RuleSet of 2 rules, nulls='unknown'
  one_city  fd (zip) -> city
  K         key (id)
>>> rules["K"].severity, "X" in rules, [r.id for r in rules.of_kind("fd")]
('error', False, ['one_city'])

Values, not containers: a rule set never changes. Looking up an id takes constant time.
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, get_args, overload

from rowlaw.errors import RowlawError, nearest
from rowlaw.rules.consequences import Consequences
from rowlaw.rules.lexicographic import shortest
from rowlaw.rules.model import Kind, Nulls, Rule, SortColumn
from rowlaw.rules.parse import Parsed, parse_located, parse_sort
from rowlaw.rules.wording import counted

Severity: TypeAlias = Literal["error", "warn"]

MAX_ID = 200  # characters: an id is a YAML key and a column of every report
SHOWN = 20  # rules in a repr; a rule set may have many thousands
_WIDTH = 100  # characters of rule text in a repr


@dataclass(frozen=True, slots=True)
class NamedRule:
    """A rule with its id, what a breach means, and what discovery measured.

    ``tolerate`` is the share of ordered pairs of rows that may break it. ``error`` is the share that did when it was
    discovered (g1), ``support`` the number of pairs that speak for it, ``score`` its rank, ``selected`` whether it is
    one of the rules worth reading. ``origin`` keeps its text, for carets in later errors.
    """

    id: str
    rule: Rule
    severity: Severity = "error"
    tolerate: float = 0.0
    because: str | None = None
    error: float | None = None
    support: int | None = None
    score: float | None = None
    selected: bool = False
    origin: Parsed | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        # printable: an id must fit in one line of a file, a report and a terminal
        if not (isinstance(self.id, str) and 0 < len(self.id) <= MAX_ID and self.id.isprintable()):
            raise self._refused("id", f"must be 1 to {MAX_ID} printable characters")
        if not isinstance(self.rule, Rule):
            raise self._refused("rule", "must be a rule, or its text")
        if self.severity not in ("error", "warn"):
            raise self._refused("severity", "must be 'error' or 'warn'")
        if not isinstance(self.selected, bool):
            raise self._refused("selected", "must be true or false")
        if not (self.because is None or isinstance(self.because, str)):
            raise self._refused("because", "must be text")
        self._number("tolerate", self.tolerate, "a share from 0 to 1", 0.0, 1.0)
        if self.error is not None:
            self._number("error", self.error, "a share from 0 to 1", 0.0, 1.0)
        if self.score is not None:
            self._number("score", self.score, "a finite number", -math.inf, math.inf)
        if self.support is not None and type(self.support) is not int:
            if not hasattr(self.support, "__index__") or isinstance(self.support, bool):
                raise self._refused("support", "must be a whole number, 0 or more")
            object.__setattr__(self, "support", operator.index(self.support))
        if self.support is not None and self.support < 0:
            raise self._refused("support", "must be a whole number, 0 or more")

    def _number(self, name: str, value: float, demand: str, low: float, high: float) -> None:
        """Check a number; those of other types than ``float`` are converted, as NumPy's floats print their type."""
        number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        if not (number and low <= value <= high):
            raise self._refused(name, f"must be {demand}")
        if type(value) is not float:
            object.__setattr__(self, name, float(value))

    def _refused(self, name: str, problem: str) -> RowlawError:
        return RowlawError("BAD_RULE", id=self.id, field=name, problem=f"{problem}, not {getattr(self, name)!r}")

    @property
    def kind(self) -> Kind:
        return self.rule.kind

    def to_dict(self) -> dict[str, Any]:
        """What the JSON documents of all commands say of a rule.

        >>> NamedRule("R1", parse_located("key (id)").rule, error=0.0).to_dict()["predicates"]
        [['s.id', '=', 't.id']]
        """
        return {
            "id": self.id,
            "kind": self.kind,
            "rule": str(self.rule),
            "predicates": [[str(p.left), p.symbol, str(p.right)] for d in self.rule.denials for p in d.predicates],
            "error": self.error,
            "support": self.support,
            "score": self.score,
        }

    def __str__(self) -> str:
        return str(self.rule)


Ruleish: TypeAlias = "str | Rule | NamedRule"


@dataclass(frozen=True, slots=True, repr=False)
class RuleSet:
    """An ordered set of named rules, with the meaning of nulls and the predicate settings they were made under."""

    rules: tuple[NamedRule, ...] = ()
    nulls: Nulls = "unknown"
    settings: Mapping[str, Any] = field(default_factory=dict)
    _by_id: dict[str, NamedRule] = field(init=False, compare=False)
    # made when it is first asked for
    _consequences: Consequences | None = field(init=False, compare=False, default=None)

    def __post_init__(self) -> None:
        if self.nulls not in get_args(Nulls):
            raise RowlawError("BAD_OPTION", option="nulls", value=self.nulls, problem="expected 'unknown' or 'equal'")
        object.__setattr__(self, "rules", tuple(self.rules))
        object.__setattr__(self, "settings", dict(self.settings))  # a copy: the caller's may change
        by_id: dict[str, NamedRule] = {}
        for rule in self.rules:
            if rule.id in by_id:
                raise RowlawError("DUPLICATE_RULE_ID", id=rule.id, where="")
            by_id[rule.id] = rule
        object.__setattr__(self, "_by_id", by_id)

    @classmethod
    def of(
        cls,
        rules: RuleSet | Ruleish | Iterable[Ruleish] | Mapping[str, Ruleish],
        *,
        nulls: Nulls | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> RuleSet:
        """A rule set from what people have at hand: texts, rules, a mapping from ids, or a rule set, which is kept.

        Rules without an id are called R1, R2 and so on, past the ids that are taken. ``nulls`` and ``settings`` replace
        those of a rule set.

        >>> from rowlaw.rules.model import Key
        >>> [r.id for r in RuleSet.of(["key (a)", NamedRule("R1", Key(("b",)))])]
        ['R2', 'R1']
        """
        if isinstance(rules, RuleSet):
            return cls(
                rules.rules, rules.nulls if nulls is None else nulls, rules.settings if settings is None else settings
            )
        if isinstance(rules, str | Rule | NamedRule):
            rules = [rules]
        pairs: list[tuple[str | None, Ruleish]]
        if isinstance(rules, Mapping):
            pairs = list(rules.items())
        elif not isinstance(rules, Iterable):
            problem = "give a rule such as 'key (id)', a list of them, the path of a rule file or a RuleSet"
            raise RowlawError("BAD_OPTION", option="rules", value=rules, problem=problem)
        else:
            pairs = [(rule.id if isinstance(rule, NamedRule) else None, rule) for rule in rules]
        taken = {id for id, _ in pairs if id is not None}
        free = (id for n in range(1, len(pairs) + len(taken) + 1) if (id := f"R{n}") not in taken)
        return cls(
            tuple(_named(next(free) if id is None else id, rule) for id, rule in pairs),
            nulls or "unknown",
            settings or {},
        )

    def __iter__(self) -> Iterator[NamedRule]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    def __contains__(self, id: object) -> bool:
        return id in self._by_id

    @overload
    def __getitem__(self, id: str | int) -> NamedRule: ...
    @overload
    def __getitem__(self, id: slice) -> RuleSet: ...
    def __getitem__(self, id: str | int | slice) -> NamedRule | RuleSet:
        """A rule by its id or its position; several by a slice.

        >>> rules = RuleSet.of(["key (a)", "key (b)"])
        >>> str(rules[0]), str(rules["R2"]), len(rules[:1])
        ('key (a)', 'key (b)', 1)
        """
        if isinstance(id, slice):
            return replace(self, rules=self.rules[id])
        if isinstance(id, int):
            try:
                return self.rules[id]
            except IndexError:
                hint = (
                    f": the set has {counted(len(self), 'rule')}, laws[0] is the first"
                    if len(self)
                    else ": the set has no rules"
                )
                raise RowlawError("UNKNOWN_RULE", id=id, hint=hint) from None
        try:
            return self._by_id[id]
        except KeyError:
            raise RowlawError("UNKNOWN_RULE", id=id, hint=nearest(str(id), self._by_id)) from None

    def __repr__(self) -> str:
        width = max((len(r.id) for r in self.rules[:SHOWN]), default=0)
        texts = ((r, " ".join(str(r.rule).split())) for r in self.rules[:SHOWN])
        lines = [f"  {r.id:<{width}}  {t if len(t) <= _WIDTH else t[: _WIDTH - 3] + '...'}" for r, t in texts]
        more = [f"  ... and {len(self) - SHOWN:,} more"] if len(self) > SHOWN else []
        return "\n".join([f"RuleSet of {counted(len(self), 'rule')}, nulls={self.nulls!r}", *lines, *more])

    def _repr_html_(self) -> str:
        """What a notebook shows: the first rules."""
        from rowlaw.rules.notebook import rules_html

        return rules_html(self)

    def of_kind(self, *kinds: Kind) -> RuleSet:
        """The rules of these kinds, in the same order, under the same settings."""
        return replace(self, rules=tuple(r for r in self.rules if r.kind in kinds))

    def implies(self, rule: Ruleish) -> bool:
        """Whether a rule follows from these, without looking at any data.

        >>> rules = RuleSet.of(["fd (week) -> month", "od {}: month ~ week"])
        >>> rules.implies("od [week] -> [month]"), rules.implies("od [month] -> [week]")
        (True, False)

        True is certain. False is certain for functional, order and lexicographic order dependencies if the rules are
        all functional dependencies and order compatibilities that were discovered, exactly and without a limit;
        otherwise it says that the rules do not decide it. Rules that some pairs may break (``error``, ``tolerate``)
        prove nothing and are not used.
        """
        named = _named("the question", rule)
        self._check_columns(named.rule.columns)
        return self._known().include(named.rule)

    def order_by(self, columns: str | Iterable[str | SortColumn], *, also: Iterable[str] = ()) -> list[str]:
        """The shortest sort list that orders the rows as the given one does: only rows that tie by the given list may
        change places.

        >>> rules = RuleSet.of(["fd (week) -> month", "od {}: month ~ week"])
        >>> rules.order_by(["month asc", "week asc", "name desc"])
        ['week', 'name desc']
        >>> rules.order_by("week, month desc")
        ['week']

        It uses the columns of the given list, in any order and direction, and those of ``also``. With
        ``nulls="unknown"`` the rules say nothing about null, so the answer is for rows without null in these columns;
        with ``nulls="equal"`` it is for all rows, with nulls first where the order ascends.
        """
        items = [columns] if isinstance(columns, str) else list(columns)
        wanted = [c for item in items for c in ([item] if isinstance(item, SortColumn) else parse_sort(item))]
        others = list(also)
        self._check_columns([*(c.name for c in wanted), *others])
        return [str(c) for c in shortest(wanted, others, self._known())]

    def _known(self) -> Consequences:
        if self._consequences is None:
            exact = (r.rule for r in self.rules if not r.error and not r.tolerate)
            object.__setattr__(self, "_consequences", Consequences(exact, self.nulls))
        assert self._consequences is not None
        return self._consequences

    def _check_columns(self, names: Iterable[str]) -> None:
        """Discovered rules know their table's columns; others do not, and take any name."""
        table: tuple[str, ...] = getattr(self, "columns", ())
        for name in names:
            if table and name not in table:
                raise RowlawError("UNKNOWN_COLUMN", column=name, hint=nearest(name, table))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the rules to a YAML file."""
        from rowlaw.rules.files import save

        save(self, path)


def _named(id: str, rule: Ruleish) -> NamedRule:
    if isinstance(rule, NamedRule):
        return rule if rule.id == id else replace(rule, id=id)
    if isinstance(rule, str):
        parsed = parse_located(rule, rule=str(id))
        return NamedRule(id, parsed.rule, origin=parsed)
    return NamedRule(id, rule)
