"""Discovery of all minimal denial constraints, against Desbordante's FastADC (two threads), tables loaded beforehand on
both sides.

Null equals null; exact rules over same-column predicates, and on one table also predicates across columns and rules
that one pair in a hundred may break. The sets of rules are compared, not only their number. The tables come from the
folder that ``ROWLAW_DATA`` names. Growth is measured on the Tax table. A table too wide for all its rules is searched
for a limited time: what comes out must hold.
"""

from __future__ import annotations

import hashlib
from functools import partial
from typing import Any

from benchmarks.case import Case, Comparison, Contender, Options
from benchmarks.tables import shared, tax

BARS = {"airport": 0.2, "fuel": 0.2, "wp": 0.05, "abalone": 0.05, "adult": 0.1, "iris": None}
LONG = {"adult": 400.0}  # seconds for FastADC, which takes minutes: one call is enough
UNFINISHED = ("uce",)  # no peer finishes it
WIDE, WIDE_SECONDS = "plista", 20.0
VARIANTS = {"airport": ({"cross": True}, {"error": 0.01})}
GROWTH_SIZES = (100_000, 1_000_000)
GROWTH_BAR = 12.0
PEER_TIMEOUT = 60.0  # seconds
WARM_ROWS = 3_000  # of Tax


def digest(rules: set[str]) -> str:
    """A short name for a set of rules."""
    return hashlib.sha256("\n".join(sorted(rules)).encode()).hexdigest()[:16]


class Ours(Case):
    """``rowlaw.discovery`` on an encoded relation, ranking included."""

    def __init__(
        self, table: str, rows: int | None = None, cross: bool = False, error: float = 0.0, columns: int | None = None
    ) -> None:
        self.table, self.rows, self.cross, self.error, self.columns = table, rows, cross, error, columns

    def prepare(self) -> None:
        from rowlaw.relation import encode
        from rowlaw.source import open_source

        columns = tax.SCHEMA.names[: self.columns] if self.columns else None
        self.relation = encode(
            open_source(tax.cached(self.rows)[0] if self.rows else shared.csv(self.table), columns=columns)
        )
        self.small = encode(open_source(tax.cached(WARM_ROWS)[0]))

    def warm(self) -> None:
        self._discover(self.small)

    def run(self) -> Any:
        return self._discover(self.relation)

    def _discover(self, relation: Any) -> Any:
        from rowlaw.discovery.discover import run
        from rowlaw.engine.local.engine import LocalEngine
        from rowlaw.predicates import SpaceOptions

        return run(LocalEngine(relation, "equal"), SpaceOptions(cross=self.cross), kinds=("dc",), error=self.error)

    def in_short(self, found: Any) -> dict[str, Any]:
        from rowlaw.rules.implication import canonical

        return {"rules": found.total, "set": digest({str(canonical(r.rule)) for r in found})}

    def data_bytes(self) -> int:
        return int(self.relation.nbytes)


class Limited(Ours):
    """The same for so many seconds; the answer is how many of the rules found are broken, which a count of violations
    tells afterwards."""

    def run(self) -> Any:
        from rowlaw.deadline import Deadline
        from rowlaw.discovery.discover import run
        from rowlaw.engine.local.engine import LocalEngine
        from rowlaw.predicates import SpaceOptions

        engine = LocalEngine(self.relation, "equal")
        return run(engine, SpaceOptions(cross=False), kinds=("dc",), deadline=Deadline.after(WIDE_SECONDS))

    def in_short(self, found: Any) -> dict[str, Any]:
        from rowlaw.engine.local.engine import LocalEngine

        counts = LocalEngine(self.relation, "equal").counts([r.rule for r in found.rules[:2_000]])
        return {"partial": found.partial, "rules": found.total > 0, "broken": sum(pairs > 0 for pairs in counts)}


class FastADC(Case):
    """Desbordante's FastADC."""

    def __init__(self, table: str, cross: bool = False, error: float = 0.0) -> None:
        self.table, self.cross, self.error = table, cross, error

    def prepare(self) -> None:
        from benchmarks.peers import desbordante_tools

        self.loaded = desbordante_tools.load("fastadc", shared.csv(self.table))

    def run(self) -> Any:
        from benchmarks.peers import desbordante_tools

        return desbordante_tools.fastadc(self.loaded, cross=self.cross, error=self.error)

    def in_short(self, found: Any) -> dict[str, Any]:
        from rowlaw.rules import canonical, parse

        texts = {_text(rule) for rule in found}
        return {"rules": len(texts), "set": digest({str(canonical(parse(text))) for text in texts})}  # type: ignore[arg-type]


def _text(rule: frozenset[tuple[str, str, str]]) -> str:
    from rowlaw.rules.model import quote

    def operand(text: str) -> str:
        return f"{text[0]}.{quote(text[2:])}"

    return "not (" + " and ".join(f"{operand(left)} {op} {operand(right)}" for left, op, right in sorted(rule)) + ")"


def CASES(options: Options) -> list[Comparison]:
    """The tables at hand, then growth."""
    here = __name__
    at_hand = set(shared.names())
    cases = [
        Comparison(
            name=f"denial constraints of {name}",
            ours=Contender("rowlaw", f"{here}:Ours", {"table": name}),
            peers=(
                Contender("FastADC", f"{here}:FastADC", {"table": name}, bar=bar, timeout=LONG.get(name, PEER_TIMEOUT)),
            ),
            calls=1 if name in LONG else 3,
            make=partial(tax.cached, WARM_ROWS),
        )
        for name, bar in BARS.items()
        if name in at_hand
    ]
    cases += [
        Comparison(
            name=f"denial constraints of {name}, "
            f"{'across columns' if 'cross' in more else '1% of pairs may break them'}",
            ours=Contender("rowlaw", f"{here}:Ours", {"table": name, **more}),
            peers=(Contender("FastADC", f"{here}:FastADC", {"table": name, **more}, timeout=PEER_TIMEOUT),),
            make=partial(tax.cached, WARM_ROWS),
        )
        for name, variants in VARIANTS.items()
        for more in variants
        if name in at_hand
    ]
    cases += [
        Comparison(f"denial constraints of {name}", Contender("rowlaw", f"{here}:Ours", {"table": name}))
        for name in UNFINISHED
        if name in at_hand
    ]
    if WIDE in at_hand:
        cases.append(
            Comparison(
                f"denial constraints of {WIDE} in {WIDE_SECONDS:.0f} s",
                Contender("rowlaw", f"{here}:Limited", {"table": WIDE}),
            )
        )
    cases += [
        Comparison(
            name="denial constraints of Tax",
            size=rows,
            ours=Contender("rowlaw", f"{here}:Ours", {"table": "tax", "rows": rows}),
            make=partial(make_tax, rows),
            growth_bar=GROWTH_BAR,
        )
        for rows in options.rows or GROWTH_SIZES
    ]
    return cases


def make_tax(rows: int) -> None:
    """The tables that our case reads."""
    for number in (WARM_ROWS, rows):
        tax.cached(number)
