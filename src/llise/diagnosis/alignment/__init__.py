"""Whether a copy is shifted, turned, scaled or cropped, by how much, and the reference brought to its grid."""

from llise.diagnosis.alignment.aligner import AlignedReference, Aligner, misalignment_fault

__all__ = ["AlignedReference", "Aligner", "misalignment_fault"]
