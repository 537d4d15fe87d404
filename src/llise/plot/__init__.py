"""Figures of what llise computes, drawn with matplotlib (extra ``plot``): maps, confusion matrices, convergence.

Each function draws into the axes ``ax``, or into a new figure of pyplot, and returns the axes. Colours of text and
ground are those of matplotlib's settings; :func:`theme` sets those of the pages, light or dark.
"""

try:
    import matplotlib  # noqa: F401
except ImportError as error:
    raise ImportError("figures are drawn with matplotlib; install it with pip install 'llise[plot]'") from error

from llise.plot.charts import confusion_matrix, convergence, share_bar
from llise.plot.maps import block_map, image_map, kind_legend, picture
from llise.plot.style import DARK, LIGHT, Theme, panels, theme

__all__ = [
    "DARK",
    "LIGHT",
    "Theme",
    "block_map",
    "confusion_matrix",
    "convergence",
    "image_map",
    "kind_legend",
    "panels",
    "picture",
    "share_bar",
    "theme",
]
