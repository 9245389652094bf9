"""One exception type; named conditions with parameters.

A condition is a stable name that programs can test for; the message says cause, place and remedy.

>>> error = RowlawError("UNKNOWN_COLUMN", column="Salry", hint="; did you mean 'Salary'?")
>>> print(error)
UNKNOWN_COLUMN: no column 'Salry'; did you mean 'Salary'?
>>> error.condition, error.exit_code
('UNKNOWN_COLUMN', 2)
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

BAD_INPUT = 2  # exit code: the rule, the option or the data given cannot be used
RUN_FAILED = 3  # exit code: the input was good, the run was not


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a text something is wrong: ``start`` and ``end`` are character offsets into ``text``."""

    text: str
    start: int
    end: int
    file: str | None = None
    line: int | None = None  # line of the file on which `text` begins, from 1
    rule: str | None = None

    def __str__(self) -> str:
        before = self.text[: self.start]
        row = before.count("\n")
        column = self.start - (before.rfind("\n") + 1)
        shown = self.text.split("\n")[row]
        width = max(1, min(self.end - self.start, len(shown) - column))
        where = [f"rule {self.rule}"] if self.rule else []
        if self.file:
            where.append(f"{self.file}:{(self.line or 1) + row}")
        head = f"  in {', '.join(where)}\n" if where else ""
        # A long line is cut around the caret, so that the place is seen on any terminal.
        left = max(0, column - 60)
        shown, column = shown[left : left + 120], column - left
        shown = "".join(c if c.isprintable() else " " for c in shown)
        return f"{head}  | {shown}\n  | {' ' * column}{'^' * min(width, max(1, 120 - column))}"


_FEWER_RULES = (
    "leave columns out (--columns), keep fewer kinds (--kinds key,fd), compare fewer columns (--no-cross), "
    "or keep chosen rules only: rowlaw discover SOURCE --rules laws.yaml, then rowlaw init STATE SOURCE "
    "--rules laws.yaml"
)

_LISTED_COLUMNS = 8  # named in an error about an unknown column

# condition -> (message, exit code). Messages are one sentence of cause and, where there is one, a remedy.
_CONDITIONS: dict[str, tuple[str, int]] = {
    # rules
    "RULE_SYNTAX": ("{problem}", BAD_INPUT),
    "RULE_TOO_LONG": ("the rule has {size} {unit}; the limit is {limit}", BAD_INPUT),
    "UNKNOWN_COLUMN": ("no column {column!r}{hint}", BAD_INPUT),
    "INCOMPATIBLE_TYPES": ("cannot compare {left} ({left_type}) with {right} ({right_type}){hint}", BAD_INPUT),
    "PATTERN_NEEDS_TEXT": ("a pattern describes text, and {column} is a {type}{hint}", BAD_INPUT),
    "BAD_LITERAL": ("{literal} is not a {type}{hint}", BAD_INPUT),
    "RULE_FILE": ("{file}{where}: {problem}", BAD_INPUT),
    "BAD_RULE": ("rule {id!r}: {field} {problem}", BAD_INPUT),
    "UNKNOWN_RULE": ("no rule {id!r}{hint}", BAD_INPUT),
    "DUPLICATE_RULE_ID": ("rule id {id!r} is used twice{where}; rename one of them", BAD_INPUT),
    # options
    "MANY_PAIRS": (
        (
            "among {columns:,} columns more than {most:,} pairs share values: use --no-cross (cross=False), "
            "fewer columns or a higher overlap"
        ),
        BAD_INPUT,
    ),
    "MANY_RULES": ("more than {most:,} minimal rules, too many to keep; " + _FEWER_RULES, BAD_INPUT),
    "STATE_LATE": (
        "the time limit passed before all rules were found, and nothing was written; " + _FEWER_RULES,
        RUN_FAILED,
    ),
    "BAD_OPTION": ("{option}={value!r}: {problem}", BAD_INPUT),
    "UNKNOWN_PARAMETER": ("{function}() has no parameter {name!r}{hint}", BAD_INPUT),
    # output
    "FILE_NOT_WRITTEN": ("{path}: the file could not be written, and is as it was before: {problem}", RUN_FAILED),
    "NO_ROOM": (
        "the scratch folder {path} has no room: {problem}; free some, or name another folder with ROWLAW_SCRATCH",
        RUN_FAILED,
    ),
    "SYSTEM_ERROR": ("{problem}", RUN_FAILED),
    "RESULT_CLOSED": ("the result was closed, and its table is gone; run the check again", BAD_INPUT),
    # java and spark
    "NO_JAVA": (
        "Spark needs Java {minimum} or newer, and none was found{found}; install one, or: pip install 'rowlaw[jvm]'",
        RUN_FAILED,
    ),
    "SPARK_FAILED": ("Spark did not start: {problem}", RUN_FAILED),
    "NOT_ON_WORKERS": (
        (
            "the Python of the Spark workers cannot import rowlaw; name this Python before the session is started "
            "(PYSPARK_PYTHON={python}), or install rowlaw where the workers run"
        ),
        RUN_FAILED,
    ),
    "JOB_FAILED": ("the Spark job {job!r} failed: {problem}", RUN_FAILED),
    # sources
    "NO_SUCH_TABLE": (
        "no table {table!r} in the catalog of Spark{hint}, and no file or folder of that name",
        BAD_INPUT,
    ),
    "NO_SUCH_FILE": ("no file, folder or glob {path!r}{hint}", BAD_INPUT),
    "EMPTY_FILE": ("{path}: the file is empty; a table needs column names at least", BAD_INPUT),
    "NO_COLUMNS": ("{source}: the table has no columns", BAD_INPUT),
    "RAGGED_ROW": (
        (
            "{path}, line {line}: {fields} where the header has {expected}; {above}quote the field, fix the line "
            "or give the delimiter"
        ),
        BAD_INPUT,
    ),
    "BAD_ENCODING": (
        "{path}, line {line}, byte {byte}: not valid {encoding}; give the encoding, for example encoding='latin-1'",
        BAD_INPUT,
    ),
    "BAD_FILE": ("{path}: {problem}", BAD_INPUT),
    "BAD_VALUE": (
        (
            "{path}{where}, column {column!r}: {value!r} cannot be read as {type}; give another type for the "
            "column or fix the value"
        ),
        BAD_INPUT,
    ),
    "DUPLICATE_COLUMN": (
        "{source}: the column name {column!r} occurs more than once; rename one of the columns",
        BAD_INPUT,
    ),
    "UNSUPPORTED_TYPE": (
        "{source}, column {column!r}: type {type} cannot be compared; leave the column out or convert it",
        BAD_INPUT,
    ),
    "UNKNOWN_FORMAT": ("{path}: cannot tell the format from the name; give it, for example format='csv'", BAD_INPUT),
    "REMOTE_STORAGE": ("{path}: Spark could not read it: {cause}; {remedy}", BAD_INPUT),
    "MIXED_TYPES": (
        (
            "{source}, column {column!r}: its values are of several types ({types}); give it one, for example "
            "frame[{column!r}].astype(str)"
        ),
        BAD_INPUT,
    ),
    "NOT_A_TABLE": (
        "cannot read a table from {type}; give a path, a Spark DataFrame or a frame with an Arrow C stream",
        BAD_INPUT,
    ),
    "MISSING_PACKAGE": ("{what} needs the package {package!r}; pip install '{install}'", BAD_INPUT),
    "AGAINST_COLUMN": (
        "{source}: the old table has no column {column!r}, which a rule or the row id needs{hint}",
        BAD_INPUT,
    ),
    "AGAINST_TYPE": (
        (
            "{source}, column {column!r}: {found}, and the old table has {expected}; give the column one type in "
            "both tables (types, --types)"
        ),
        BAD_INPUT,
    ),
    "BAD_ROW_ID": ("row_id column {column!r} {problem}", BAD_INPUT),
    # upkeep
    "NO_STATE": ("{path!r} holds no state{hint}; make one with: rowlaw init {path} SOURCE", BAD_INPUT),
    "STATE_EXISTS": ("{path!r} {problem}; give another folder, or delete this one first", BAD_INPUT),
    "STATE_FORMAT": ("{path}: a state of format {found}, and this rowlaw reads format {known}; {remedy}", BAD_INPUT),
    "STATE_DAMAGED": ("{path}: {problem}; restore the folder from a copy or make the state anew", BAD_INPUT),
    "STATE_LOCKED": ("{path}: {who} is writing to this state; try again when it is done", RUN_FAILED),
    "STATE_NOT_WRITTEN": ("{path}: the state could not be written, and is as it was before: {problem}", RUN_FAILED),
    "BATCH_COLUMNS": ("{source}: {problem}; nothing was changed", BAD_INPUT),
    "BATCH_TYPE": (
        "{source}, column {column!r}: {found}, and the table has {expected}; nothing was changed",
        BAD_INPUT,
    ),
    "DUPLICATE_ROW_ID": ("{source}: row id {id!r} {problem}; nothing was changed", BAD_INPUT),
    "UNKNOWN_ROW": ("{source}: no row {row} to delete{more}; nothing was changed", BAD_INPUT),
    "TABLE_TOO_LARGE": ("{source}: {rows} rows; a relation holds at most {limit}", BAD_INPUT),
}


# The same errors in the words of the command line, where options have other names.
_COMMAND_LINE: dict[str, str] = {
    "UNKNOWN_FORMAT": "{path}: cannot tell the format from the name; give it, for example --source-format csv",
    "RAGGED_ROW": (
        "{path}, line {line}: {fields} where the header has {expected}; {above}quote the field, fix the line "
        "or give --delimiter"
    ),
    "BAD_ENCODING": "{path}, line {line}, byte {byte}: not valid {encoding}; give the encoding, for example "
    "--encoding latin-1",
    "BAD_VALUE": (
        "{path}{where}, column {column!r}: {value!r} cannot be read as {type}; give another type, for "
        "example --types {column}=string, "
        "or fix the value"
    ),
    "MIXED_TYPES": "{source}, column {column!r}: its values are of several types ({types}); give it one: --types "
    "{column}=string",
    "NOT_A_TABLE": "cannot read a table from {type}; give a file, a folder or a table of the catalog",
    "MANY_PAIRS": "among {columns:,} columns more than {most:,} pairs share values: use --no-cross, fewer "
    "--columns or a higher --overlap",
    "MANY_RULES": "more than {most:,} minimal rules, too many to keep: name fewer --columns, or use --no-cross",
    "BAD_ROW_ID": "--row-id: column {column!r} {problem}",
}
_OPTIONS = {
    "format": "--source-format",
    "operators_of": "--operators",
    "predicates": "--predicate",
    "progress": "--quiet",
}


class RowlawError(Exception):
    """What rowlaw raises: ``condition`` names it, ``parameters`` hold the particulars."""

    def __init__(self, condition: str, place: Place | None = None, **parameters: Any) -> None:
        template, self.exit_code = _CONDITIONS[condition]
        self.condition = condition
        self.parameters = parameters
        self.place = place
        self.message = template.format(**parameters)
        super().__init__(f"{condition}: {self.message}" + (f"\n{place}" if place else ""))

    def at(self, place: Place | None = None) -> RowlawError:
        """The same error, to be raised at a place."""
        return RowlawError(self.condition, place, **self.parameters)

    def on_command_line(self) -> str:
        """The error as a command prints it: options by the names that they have there.

        >>> print(RowlawError("BAD_OPTION", option="row_id", value=3, problem="give a name").on_command_line())
        BAD_OPTION: --row-id 3: give a name
        """
        message = self.message
        if self.condition == "BAD_OPTION":
            option = str(self.parameters["option"])
            name = (
                option
                if option.startswith("-") or " " in option
                else _OPTIONS.get(option, "--" + option.replace("_", "-"))
            )
            value = self.parameters["value"]
            shown = "" if value is True or value == "" else f" {value}"
            message = f"{name}{shown}: {self.parameters['problem']}"
        elif self.condition in _COMMAND_LINE:
            message = _COMMAND_LINE[self.condition].format(**self.parameters)
        return f"{self.condition}: {message}" + (f"\n{self.place}" if self.place else "")

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.condition, self.place, self.parameters)


class RowlawWarning(UserWarning):
    """What rowlaw warns of: something in the input that it leaves out, or that is probably meant otherwise.

    The command line prints it as one line on stderr, in its own words (``on_command_line``) where it has others.
    """

    def __init__(self, message: str, on_command_line: str | None = None) -> None:
        super().__init__(message)
        self.on_command_line = on_command_line or message


def _rebuild(condition: str, place: Place | None, parameters: dict[str, Any]) -> RowlawError:
    return RowlawError(condition, place, **parameters)


def nearest(name: str, known: Iterable[str]) -> str:
    """The hint of an error about an unknown name: the nearest known one, or nothing.

    >>> nearest("Salry", ["Salary", "Rate"])
    "; did you mean 'Salary'?"
    >>> nearest("ZipCode", ["phone", "zip"])
    "; did you mean 'zip'?"
    """
    folded = {n.casefold(): n for n in reversed(list(known))}
    close = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.5)
    return f"; did you mean {folded[close[0]]!r}?" if close else ""


def check_parameters(function: Callable[..., Any], given: Iterable[str], more: Iterable[str], name: str = "") -> None:
    """Raise an error about the first name that is neither a parameter of a function nor one ``more``, with the nearest
    one that is.

    ``name``: of the function that the user called, if that is another one.

    >>> check_parameters(nearest, ["nme"], ["format"])
    Traceback (most recent call last):
    rowlaw.errors.RowlawError: UNKNOWN_PARAMETER: nearest() has no parameter 'nme'; did you mean 'name'?
    """
    if not given:
        return
    known = inspect.signature(function).parameters.values()
    names = [*(p.name for p in known if p.kind != inspect.Parameter.VAR_KEYWORD), *more]
    for wrong in given:
        if wrong not in names:
            raise RowlawError(
                "UNKNOWN_PARAMETER", function=name or function.__name__, name=wrong, hint=nearest(wrong, names)
            )


def no_column(
    name: str, known: Iterable[str], skipped: Mapping[str, RowlawError] | None = None, place: Place | None = None
) -> RowlawError:
    """The error about a column that is not there, or that is there and ``skipped``, with the reason.

    >>> print(no_column("Salry", ["Salary"]))
    UNKNOWN_COLUMN: no column 'Salry'; did you mean 'Salary'?
    >>> print(no_column("id", ["zip", "city"]))
    UNKNOWN_COLUMN: no column 'id'; the columns are 'zip', 'city'
    """
    names = list(known)
    reasons = skipped or {}
    reason = reasons.get(name) or reasons.get(name.partition(".")[0])  # a field of a nested column
    if reason is not None:
        return reason.at(place)
    return RowlawError("UNKNOWN_COLUMN", place, column=name, hint=nearest(name, names) or _all_of(names))


def _all_of(names: list[str]) -> str:
    """The hint that lists the columns, the first ones where they are many."""
    if not names:
        return ""
    more = f" and {len(names) - _LISTED_COLUMNS:,} more" if len(names) > _LISTED_COLUMNS else ""
    return f"; the columns are {', '.join(map(repr, names[:_LISTED_COLUMNS]))}{more}"
