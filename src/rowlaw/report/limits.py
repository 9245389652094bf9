"""How much of a result goes into a report, so that the page stays quick: at most :data:`MOST_BYTES`, whatever the
table."""

from __future__ import annotations

from dataclasses import dataclass

MOST_BYTES = 2_000_000  # of the whole file


@dataclass(frozen=True, slots=True)
class Limits:
    """What is shown at most. Numbers are exact whatever the limits; lists say how much they leave out."""

    rules: int = 2000
    clashes: int = 12  # pairs of rows per broken rule
    clash_rules: int = 200  # broken rules that come with pairs
    sql_rules: int = 400
    sample: int = 400  # rows of the table behind the plots
    worst: int = 25
    cell: int = 80  # characters
    columns: int = 60
    events: int = 300
    causes: int = 100  # rows without which broken rules hold
    suspects: int = 100  # cells that are probably wrong

    def smaller(self) -> Limits:
        """Half of everything that can be halved."""
        return Limits(
            rules=max(50, self.rules * 2 // 3),
            clashes=max(1, self.clashes // 2),
            clash_rules=max(20, self.clash_rules * 2 // 3),
            sql_rules=self.sql_rules // 2,
            sample=max(50, self.sample // 2),
            worst=max(5, self.worst // 2),
            cell=max(24, self.cell * 2 // 3),
            columns=max(10, self.columns * 2 // 3),
            events=max(20, self.events // 2),
            causes=max(10, self.causes // 2),
            suspects=max(10, self.suspects // 2),
        )
