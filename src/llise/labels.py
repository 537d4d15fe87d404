"""Names of the distortions, in the order of the paper's figures; all other modules use these."""

KINDS = ("contrast", "gaussian_noise", "luminance", "blur", "impulse_noise", "jpeg")
"""The six distortions of the paper."""

FURTHER_KINDS = ("jpeg2000", "speckle_noise", "pixelation", "quantization", "sharpening", "content")
"""Kinds that are not in the paper; a new one is named here (docs/add-a-kind.md)."""

NAMED_KINDS = (*KINDS, *FURTHER_KINDS)
"""All kinds that a diagnosis names and estimates."""

COLOR_KINDS = ("saturation", "color_cast", "chroma_noise", "chroma_blur")
"""Faults of colour, which only colour pictures can have."""

LABELS = ("original", *KINDS)
"""The original and the six distortions; the index of a label is its code in integer maps."""

MISALIGNMENT = "misalignment"
"""Name of the kind that is measured before all others: the copy is shifted, turned or scaled as a whole."""

UNKNOWN = "unknown"
"""Name of a fault that none of the kinds accounts for."""

NETWORK_KINDS = (*NAMED_KINDS, *COLOR_KINDS, UNKNOWN)
"""What the network tells apart in a block, in the order of its answers and of the bits of labels."""

LETTERS = dict(zip(LABELS, "OCGLBIJ"))
"""One-letter names of the paper's Table 1."""

PAPER_MIXTURES = (
    ("blur", "gaussian_noise"),
    ("blur", "luminance"),
    ("impulse_noise", "luminance"),
    ("jpeg", "gaussian_noise"),
    ("jpeg", "luminance"),
    ("jpeg", "contrast"),
)
"""The mixtures of the paper's out-of-sample images; the distortion named first is applied first."""
