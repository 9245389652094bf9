"""What pairs of rows say: :func:`all_pairs` of them, or a sample."""

from rowlaw.evidence.evidence import EvidenceSet
from rowlaw.evidence.slots import Slot, Slots
from rowlaw.evidence.tiles import all_pairs, evidence_of_pairs

__all__ = ["EvidenceSet", "Slot", "Slots", "all_pairs", "evidence_of_pairs"]
