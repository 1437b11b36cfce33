"""`gotta paper`: the published numbers."""


def paper() -> None:
    """Print the tables of the paper as Markdown, the numbers of its text, and what does not fit together.

    Example: `gotta paper > paper-numbers.md`
    """
    import sys

    from gotta.report.paper.numbers_page import paper_markdown

    sys.stdout.write(paper_markdown())
