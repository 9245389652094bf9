"""Cost estimates beside what counting takes: ``python -m benchmarks.costs`` on Tax with errors, a million rows.

For each rule every method that can count it, with its estimate and the CPU seconds of the best of some calls. This is
what the constants in ``rowlaw/engine/local/costs.py`` are taken from. The method that is chosen is marked.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks import shapes
from benchmarks.tables import by_name

ROWS = 1_000_000
CALLS = 3
MOST_PAIRS = 2e8  # that are scanned
MORE = (
    "key (Zip)",
    "not (s.State = t.State)",
    "fd (Zip) -> FName",
    "fd (State, LName) -> City",
    "od {Zip}: Salary ~ Rate",
    "not (s.State = t.State and s.Salary < t.Salary and s.Rate >= t.Rate)",
    "not (s.Zip = t.Zip and s.Salary < t.Salary and s.Rate > t.Rate and s.FName != t.FName)",
    "not (s.Phone = t.Phone and s.Salary < t.Salary and s.Rate != t.Rate and s.FName != t.FName)",
    "not (s.Zip = t.Zip and s.City != t.City and s.State != t.State)",
    "not (s.Salary < t.Salary and s.FName != t.FName)",
    "not (s.State = t.State and s.Salary <= t.Salary and s.Rate > t.Rate and s.ChildExemp < t.ChildExemp)",
    "not (s.SingleExemp = t.MarriedExemp and s.Salary < t.Salary and s.Rate > t.Rate)",
    "not (s.SingleExemp < t.MarriedExemp and s.Salary < t.Salary)",
    "not (s.Zip = t.Zip and s.Salary < t.Salary and s.Rate > t.Rate and s.FName < t.FName)",
    "not (s.Zip = t.Zip and s.Salary <= t.Salary and s.Rate >= t.Rate and s.FName < t.FName)",
    "not (s.LName = t.LName and s.Gender = t.Gender and s.Salary < t.Salary and s.Rate > t.Rate and s.FName < t.FName)",
    "not (s.Zip = t.Zip and s.Salary < t.Salary and s.Rate != t.Rate and s.FName != t.FName)",
    "not (s.Salary < 0)",
)


def rules() -> list[str]:
    """All rules that are measured."""
    return [*shapes.TWENTY, *MORE]


def measured(relation: Any, texts: Sequence[str]) -> Iterator[tuple[str, str, bool, float, float]]:
    """For each rule and method that can count it: rule, method, whether it is chosen, estimate and measured CPU
    seconds."""
    from rowlaw.engine.local.compile import Scales, compile_rule
    from rowlaw.engine.local.count import METHODS, count, settled_method
    from rowlaw.engine.local.method import Question
    from rowlaw.engine.local.terms import Scan
    from rowlaw.rules import bind, parse_located

    scales = Scales(relation, "unknown")
    for text in texts:
        for denial in bind(parse_located(text), relation.types).denials:
            rule = compile_rule(denial, scales)
            chosen = settled_method(Question(rule, relation.rows))
            for usual in METHODS:
                method = usual
                question = Question(rule, relation.rows)
                if isinstance(method, Scan):
                    if len(rule.others) < method.comparisons or question.pairs > MOST_PAIRS:
                        continue
                    method = Scan(limit=math.inf, slower=math.inf)
                if not method.applies(question) or (method.may_decline and method.count(question) is None):
                    continue
                taken = []
                for _ in range(CALLS):
                    begin = time.process_time()
                    count(rule, relation.rows, methods=[method])
                    taken.append(time.process_time() - begin)
                yield text, method.name, method.name == chosen.name, method.seconds(question), min(taken)


def main() -> None:
    """Print a table."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    relation = by_name.encoded("tax with errors", rows)
    print(f"{'estimate':>10} {'measured':>10} {'ratio':>6}  method")
    for text, method, chosen, estimate, taken in measured(relation, rules()):
        mark = "*" if chosen else " "
        print(f"{estimate:>10.4f} {taken:>10.4f} {estimate / max(taken, 1e-6):>6.2f} {mark} {method:<15} {text}")


if __name__ == "__main__":
    main()
