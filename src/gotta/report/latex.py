"""Tables as LaTeX in the paper's layout: proper names, best bold, second underlined, a short caption."""

from gotta.report.cells import BEST, ORDER, OTHER_STEPS, SECOND, TIED, Cell, Table
from gotta.report.results import Results

SYMBOLS = {
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$"},
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{TIED: r"$\approx$", OTHER_STEPS: r"$\neq$", ORDER: r"$\gg$", "†": r"$^\dagger$"},
    **{"±": r"$\pm$", "·": "--", "−": "$-$", "–": "--"},
}
PROPER = {  # as their papers write them; other memories and methods that are short words are abbreviations
    **{"none": "No memory", "fifo": "FIFO", "cbfifo": "CB-FIFO", "reservoir": "Reservoir", "kcenter": "k-centre"},
    **{"norm": "Norm", "source": "Source", "rotta": "RoTTA", "cotta": "CoTTA", "tent": "TENT", "energy": "Energy"},
    **{"deskew": "Deskew", "roid": "ROID", "petta": "PeTTA", "sotta": "SoTTA", "resitta": "ResiTTA", "deyo": "DeYO"},
    **{name: name.upper() for name in ("pbrs", "cstu", "cds", "fps", "fpsd", "hus", "rbm", "note", "sar", "eata")},
    **{name: name.upper() for name in ("pl", "shot", "lame", "tribe", "cofa", "foa", "t3a", "neo")},
}
HEAD = r"""% Made by gotta report. To use one table, copy it with these packages.
\documentclass{article}
\usepackage[margin=1.5cm,landscape]{geometry}
\usepackage{booktabs}
\usepackage{graphicx}
\begin{document}
"""


def tex(results: Results) -> str:
    """A document with the tables of each set-up and reading, seconds left out."""
    parts = []
    for chapter in results.chapters:
        for view in chapter.views:
            if view.key != "seconds":
                for block, table in enumerate(view.tables, 1):
                    label = f"tab:{chapter.number}-{view.key.replace('_', '-')}{f'-{block}' if block > 1 else ''}"
                    parts.append(_table(table, chapter.panel.title, label))
    return HEAD + "\n\\clearpage\n".join(parts) + "\\end{document}\n"


def escape(text: str) -> str:
    """Any text as LaTeX would print it; what LaTeX's default fonts lack becomes a question mark."""
    return "".join(SYMBOLS.get(c, c if c.isascii() and c.isprintable() else "?") for c in text)


def proper(name: str) -> str:
    """A label with the names of methods and memories as papers write them.

    >>> proper("rotta + fps epsilon=0.1")
    'RoTTA + FPS epsilon=0.1'
    """
    return " ".join(PROPER.get(word, word) for word in name.split(" "))


def _table(table: Table, title: str, label: str) -> str:
    names = [table.heading[0].capitalize(), *map(proper, table.columns)]
    lines = [
        r"\begin{table}[ht]\centering",
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{l{'r' * len(table.columns)}}}",
        r"\toprule",
        " & ".join(map(escape, names)) + r" \\",
        r"\midrule",
    ]
    before = table.rows[0].ranked if table.rows else True
    for row in table.rows:
        lines += [r"\midrule"] if row.ranked != before else []
        before = row.ranked
        lines.append(" & ".join([escape(proper(row.names[0])), *map(_cell, row.cells)]) + r" \\")
    marks = ["Bold: best", "underlined: second"] if table.has_marks else []
    legend = [*marks, *table.legend, *(note.rstrip(".") for note in table.footnotes)]
    told = f" {'; '.join(legend)}." if legend else ""
    caption = escape(f"{table.title}{f', {title}' if title else ''}.{told}")
    lines += [r"\bottomrule", r"\end{tabular}}", rf"\caption{{{caption}}}", rf"\label{{{label}}}", r"\end{table}", ""]
    return "\n".join(lines)


def _cell(cell: Cell) -> str:
    if cell.value is None:
        return escape(cell.absent)
    number = cell.number.replace("-", "$-$")
    number = {BEST: rf"\textbf{{{number}}}", SECOND: rf"\underline{{{number}}}"}.get(cell.mark, number)
    number += rf" {{\scriptsize$\pm${cell.interval:.{cell.decimals}f}}}" if cell.interval is not None else ""
    signs = "".join(SYMBOLS[sign] for sign in cell.signs)
    return number + (rf"\rlap{{$^{{{signs.replace('$', '').replace('^', '')}}}$}}" if signs else "")
