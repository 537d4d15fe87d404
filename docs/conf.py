"""Settings of the documentation site: ``pip install ".[docs]" && make -C docs html``."""

import sys
from pathlib import Path

import numpydoc.xref
import sphinx.ext.autosummary

import llise

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "llise"
author = "The llise developers"
copyright = "the llise developers"
version = release = llise.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "myst_parser",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "page_links",
    "kind_pictures",
]
exclude_patterns = ["_build", "_ext", "gallery/*.ipynb", "gallery/*.py"]
templates_path = ["_templates"]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]  # the gallery's settings hold a function

autosummary_generate = True
sphinx.ext.autosummary.WELL_KNOWN_ABBREVIATIONS += ("eq.", "(eq.")  # no ends of sentences
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"  # but the names below
numpydoc.xref.DEFAULT_LINKS.clear()  # they point into lists of names that would have to be downloaded
numpydoc_xref_aliases = {
    "ndarray": "numpy.ndarray",
    "Axes": "matplotlib.axes.Axes",
    "Figure": "matplotlib.figure.Figure",
    "numpy.random.Generator": "numpy.random.Generator",
    "Diagnosis": "llise.Diagnosis",
    "Fault": "llise.diagnosis.Fault",
    "Interval": "llise.diagnosis.Interval",
    "ImageSet": "llise.datasets.ImageSet",
    "Distorted": "llise.distortions.Distorted",
    "Kind": "llise.kinds.base.Kind",
    "Draw": "llise.kinds.base.Draw",
    "Fit": "llise.kinds.fitting.Fit",
    "ADMM": "llise.ADMM",
}
nitpicky = True
nitpick_ignore_regex = [("py:(data|attr)", ".*")]  # constants and fields have no entries of their own
highlight_language = "text"  # of blocks that name no language
html_math_renderer = "mathml"

html_theme = "pydata_sphinx_theme"
html_title = "llise"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_sidebars = {"**": ["globaltoc.html"]}
html_theme_options = {
    "logo": {"text": "llise"},
    "navbar_center": [],
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "show_prev_next": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "secondary_sidebar_items": {"**": ["page-toc"]},
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "subsection_order": ["../examples/diagnosis", "../examples/manifolds", "../examples/computing"],
    "within_subsection_order": "FileNameSortKey",
    "doc_module": ("llise",),
    "backreferences_dir": "generated/backreferences",
    "reference_url": {"llise": None},
    "abort_on_example_error": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "reset_modules": ("matplotlib", "gallery_style.reset"),
    "plot_gallery": "True",
    "image_srcset": ["2x"],
    "thumbnail_size": (480, 320),
}
