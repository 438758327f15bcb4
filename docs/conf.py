"""Configuration of the documentation: ``make docs`` builds it, and warnings are errors."""

import os
import subprocess
import sys
from pathlib import Path

from docutils.nodes import SkipNode
from docutils.utils.math.latex2mathml import tex2mathml

import localmkl

# Threads that wait for each other would take most of the time of the small examples.
os.environ.setdefault("NUMBA_NUM_THREADS", "1")

project = "localmkl"
author = "The localmkl developers"
copyright = f"2026, {author}"
version = release = localmkl.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "auto_examples/*.ipynb", "auto_examples/*.py"]
templates_path = ["_templates"]
default_role = "py:obj"

numpydoc_show_class_members = False
autodoc_typehints = "none"  # docstrings say types, and shapes with them
myst_heading_anchors = 3

html_theme = "pydata_sphinx_theme"
html_title = f"localmkl {release}"
html_static_path = ["_static"]
html_css_files = ["localmkl.css"]
html_show_sourcelink = False
html_sidebars = {
    page: []
    for page in (
        "getting_started",
        "first_hour",
        "sessions",
        "command_line",
        "choosing",
        "evidence",
        "comparison",
        "vocabulary",
        "data",
        "promises",
        "extending",
        "changelog",
    )
}
linkcheck_ignore = [r"https?://"]  # links within the site; what is outside needs a network
html_math_renderer = "mathml"
html_context = {"default_mode": "auto"}
html_theme_options = {
    "header_links_before_dropdown": 4,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("localmkl",),
}

FROM_SCIKIT_LEARN = ("get_metadata_routing", "get_params", "set_params", "score")


def skip_member(app, what, name, member, skip, options):
    """Leave out what every estimator has from scikit-learn, which documents it."""
    return name in FROM_SCIKIT_LEARN or name.endswith("_request") or skip


def write_formula(translator, node):
    """Write a formula as MathML, which browsers draw without scripts, fonts or a network."""
    translator.body.append(tex2mathml(node.astext()))
    raise SkipNode


def write_displayed_formula(translator, node):
    """Write a formula that stands alone."""
    translator.body.append(f'<div class="formula">{tex2mathml(node.astext(), as_block=True)}</div>')
    raise SkipNode


def make_sessions(app):
    """Run the commands whose output pages show."""
    subprocess.run([sys.executable, Path(__file__).with_name("make_sessions.py")], check=True)


def setup(app):
    """Connect the functions above to Sphinx."""
    app.connect("builder-inited", make_sessions)
    app.connect("autodoc-skip-member", skip_member)
    app.add_html_math_renderer("mathml", (write_formula, None), (write_displayed_formula, None))
