"""Rules for other tools, and from them: :func:`export_rules` and :func:`import_rules`."""

from rowlaw.export.export import TARGETS, Target, export_rules
from rowlaw.export.foreign import import_rules
from rowlaw.export.target import Export, Unexpressed

__all__ = ["TARGETS", "Export", "Target", "Unexpressed", "export_rules", "import_rules"]
