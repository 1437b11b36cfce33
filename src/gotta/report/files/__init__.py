"""The files of a report: Markdown, LaTeX, CSV, figures, and the page beside them."""
