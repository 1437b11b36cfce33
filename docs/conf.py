"""The documentation site (`make docs`): Markdown pages by hand; the reference and the cards come from the code."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from generate import write_pages  # noqa: E402

import gotta  # noqa: E402

project = "gotta"
author = "the gotta maintainers"
release = version = gotta.__version__
extensions = ["sphinx.ext.napoleon", "myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "reference/extra"]
# Tables of results are a level deeper than a page with one panel needs; several rooms have a class called Result.
suppress_warnings = ["myst.header", "ref.python"]
highlight_language = "none"

myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

autodoc_default_options = {"members": True}
autodoc_inherit_docstrings = False
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
default_role = "code"  # docstrings write `name` as Markdown does

html_theme = "furo"
html_title = f"gotta {release}"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_extra_path = ["reference/extra"]
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False

linkcheck_ignore = [r"http://127\.0\.0\.1.*"]  # addresses of the reader's own machine

write_pages(HERE / "reference")
