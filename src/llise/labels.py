"""The names of the distortions, in the order of the paper's figures, the same everywhere."""

KINDS = ("contrast", "gaussian_noise", "luminance", "blur", "impulse_noise", "jpeg")
"""The six distortions of the paper."""

LABELS = ("original", *KINDS)
"""All labels; the position of a name is its code in integer block maps."""

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
"""The six mixtures of the paper's out-of-sample images, in its order of application."""
