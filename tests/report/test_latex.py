"""Tables in the paper's layout."""

import shutil
import subprocess

import pytest
from made_store import many_runs, write

from gotta.report.latex import escape, proper, tex
from gotta.report.results import read_results


def test_latex_marks_escapes_and_compiles(tmp_path):
    text = tex(read_results(write(tmp_path, many_runs())))
    assert r"\textbf{70.0}" in text
    assert "Memory & Norm & TENT" in text
    assert "\nFPS & " in text
    assert max(len(line) for line in text.splitlines() if line.startswith(r"\caption")) < 250
    assert proper("rotta + class statistics with sticky prior") == "RoTTA + class statistics with sticky prior"
    assert r"\underline{" in text
    assert escape(r"a_b & 100% \ {x} <y> ~^ é") == (
        r"a\_b \& 100\% \textbackslash{} \{x\} $<$y$>$ \textasciitilde{}\textasciicircum{} ?"
    )
    if (
        shutil.which("pdflatex") is None
        or subprocess.run(["kpsewhich", "booktabs.sty"], capture_output=True).returncode
    ):
        pytest.skip("pdflatex with booktabs is not installed")
    (tmp_path / "tables.tex").write_text(text)
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "tables.tex"]
    answer = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert answer.returncode == 0, answer.stdout[-2000:]
