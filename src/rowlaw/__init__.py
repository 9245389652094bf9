"""rowlaw: the laws that the rows of a table obey, and the rows that break them.

The public names are imported when they are first used, so that ``import rowlaw`` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rowlaw.discovery import Discovery as Discovery
    from rowlaw.discovery import discover as discover
    from rowlaw.discovery import repair as repair
    from rowlaw.errors import RowlawError as RowlawError
    from rowlaw.errors import RowlawWarning as RowlawWarning
    from rowlaw.export import export_rules as export_rules
    from rowlaw.export import import_rules as import_rules
    from rowlaw.maintain import Laws as Laws
    from rowlaw.relation import Relation as Relation
    from rowlaw.relation import encode as encode
    from rowlaw.report import Profile as Profile
    from rowlaw.report import explain as explain
    from rowlaw.report import profile as profile
    from rowlaw.report import write_report as write_report
    from rowlaw.rules import RuleSet as RuleSet
    from rowlaw.rules import load as load
    from rowlaw.rules import parse as parse
    from rowlaw.source import open_source as open_source
    from rowlaw.streams import watch as watch
    from rowlaw.violations import Result as Result
    from rowlaw.violations import check as check

__version__ = "0.2.0"

_HOMES = {
    "Discovery": "rowlaw.discovery",
    "Laws": "rowlaw.maintain",
    "Profile": "rowlaw.report",
    "Relation": "rowlaw.relation",
    "Result": "rowlaw.violations",
    "RowlawError": "rowlaw.errors",
    "RowlawWarning": "rowlaw.errors",
    "RuleSet": "rowlaw.rules",
    "check": "rowlaw.violations",
    "discover": "rowlaw.discovery",
    "encode": "rowlaw.relation",
    "explain": "rowlaw.report",
    "export_rules": "rowlaw.export",
    "import_rules": "rowlaw.export",
    "load": "rowlaw.rules",
    "open_source": "rowlaw.source",
    "parse": "rowlaw.rules",
    "profile": "rowlaw.report",
    "repair": "rowlaw.discovery",
    "watch": "rowlaw.streams",
    "write_report": "rowlaw.report",
}

__all__ = [
    "Discovery",
    "Laws",
    "Profile",
    "Relation",
    "Result",
    "RowlawError",
    "RowlawWarning",
    "RuleSet",
    "__version__",
    "check",
    "discover",
    "encode",
    "explain",
    "export_rules",
    "import_rules",
    "load",
    "open_source",
    "parse",
    "profile",
    "repair",
    "watch",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'rowlaw' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return __all__
