"""Tables as LaTeX in the paper's layout: best bold, second underlined, best of the table shaded."""

import re

from gotta.report.results import Results
from gotta.report.tables.cells import BEST, SECOND
from gotta.report.tables.views import Shown, View

SPECIAL = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
SYMBOLS = {"≈": r"$\approx$", "±": r"$\pm$", "·": "--", "−": "$-$", "–": "--", "†": r"$^\dagger$"}
HEAD = r"""% Made by gotta report. To use one table, copy it with these packages.
\documentclass{article}
\usepackage[margin=1.5cm,landscape]{geometry}
\usepackage[table]{xcolor}
\usepackage{booktabs}
\usepackage{graphicx}
\begin{document}
"""


def tex(results: Results) -> str:
    """A document with one table for each set-up and reading, seconds left out."""
    parts = []
    for number, part in enumerate(results.parts, 1):
        for view in part.views:
            if view.key != "seconds":
                parts.append(_table(view, part.panel.title, f"tab:{number}-{view.key.replace('_', '-')}"))
    return HEAD + "\n\\clearpage\n".join(parts) + "\\end{document}\n"


def escape(text: str) -> str:
    """Any text as LaTeX would print it; what LaTeX's default fonts lack becomes a question mark."""
    escaped = re.sub(
        r"[&%$#_{}]", r"\\\g<0>", re.sub(r"[\\~^]", lambda found: SPECIAL[found[0]].replace("{}", "\0"), text)
    )
    escaped = escaped.replace("\0", "{}").replace("<", "$<$").replace(">", "$>$")
    return "".join(SYMBOLS.get(c, c if c.isascii() and c.isprintable() else "?") for c in escaped)


def _table(view: View, title: str, label: str) -> str:
    lines = [
        r"\begin{table}[ht]\centering",
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{l{'r' * len(view.table.columns)}}}",
        r"\toprule",
        " & ".join(["Memory", *(escape(column) for column in view.table.columns)]) + r" \\",
        r"\midrule",
    ]
    ruled = False
    for name, ranked, cells in view.rows:
        if not ranked and not ruled:
            lines.append(r"\midrule")
            ruled = True
        lines.append(" & ".join([escape(name), *(_cell(shown) for shown in cells)]) + r" \\")
    marks = " Bold: best of a column; underlined: second; shaded: best of the table." if view.table.has_marks else ""
    told = " ".join([*view.table.caption[:1], *(f"{note.rstrip('.')}." for note in view.table.footnotes)])
    caption = escape(f"{view.table.title}{f', {title}' if title else ''}. {told}{marks}")
    lines += [r"\bottomrule", r"\end{tabular}}", rf"\caption{{{caption}}}", rf"\label{{{label}}}", r"\end{table}", ""]
    return "\n".join(lines)


def _cell(shown: Shown) -> str:
    cell = shown.cell
    if cell.value is None:
        return escape(cell.absent)
    number = cell.number.replace("-", "$-$")
    number = {BEST: rf"\textbf{{{number}}}", SECOND: rf"\underline{{{number}}}"}.get(cell.mark, number)
    number += r"$^\dagger$" if cell.no_effect else ""
    interval = rf" {{\scriptsize$\pm${cell.interval:.{cell.decimals}f}}}" if cell.interval is not None else ""
    number += interval + (r"\rlap{$^\approx$}" if cell.tied else "")  # no width, so that digits stay below digits
    return rf"\cellcolor{{gray!25}}{number}" if shown.top else number
