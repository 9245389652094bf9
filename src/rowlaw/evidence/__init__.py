"""What pairs of rows say: of :func:`all_pairs`, of a :class:`Sampler`'s choice, or of given ones."""

from rowlaw.evidence.evidence import EvidenceSet
from rowlaw.evidence.sample import SampleOptions, Sampler
from rowlaw.evidence.slots import Slot, Slots
from rowlaw.evidence.tiles import all_pairs, evidence_of_pairs

__all__ = ["EvidenceSet", "SampleOptions", "Sampler", "Slot", "Slots", "all_pairs", "evidence_of_pairs"]
