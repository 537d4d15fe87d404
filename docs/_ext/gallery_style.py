"""The look of the figures in the gallery: that of the package's own pages."""

import matplotlib


def reset(gallery_conf, filename):
    """Set the colours before each example, after the gallery has reset all settings of matplotlib."""
    from llise.plot import LIGHT

    matplotlib.rcParams.update({**LIGHT.style, "figure.dpi": 110, "savefig.dpi": 110})
