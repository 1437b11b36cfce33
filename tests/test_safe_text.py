"""Names of anybody's, made safe to show."""

import sys
import unicodedata

import pytest

from gotta.errors import unknown
from gotta.safe_text import csv_value, one_line, spell_out


def test_no_control_character_is_left_but_tabs_and_ends_of_lines():
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    shown = spell_out(everything)
    unsafe = [c for c in shown if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")]
    assert sorted(set(unsafe)) == ["\t", "\n"]
    turning = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    assert not turning & {unicodedata.bidirectional(c) for c in shown}
    assert not set(one_line(everything)) & {"\t", "\n"}


def test_ordinary_text_of_any_language_stays():
    text = "fps ± 0.5, Größe, 記憶, حافظه, emoji 👩‍🔬"
    assert spell_out(text) == one_line(text) == text


def test_what_was_there_can_be_read():
    assert one_line("a\x1b[2Jb\r\n\udcff\x9b") == "a\\x1b[2Jb\\r\\n\\udcff\\x9b"


def test_an_unknown_name_is_one_safe_line():
    assert str(unknown("memory", "f\x1b\nps", ["f\x07ps"])).startswith("memory 'f\\x1b\\nps' is unknown.")
    assert str(unknown("memory", "fps", ["f\x07\nps"])).isprintable()


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-cmd|' /C calc'!A0", "@SUM(A1)", "  =1", "＝1+1", "-1+2"])
def test_what_a_spreadsheet_takes_for_a_formula_is_quoted(text):
    assert csv_value(text) == f"'{text}"


@pytest.mark.parametrize("value", [-1.5, 3, None, True, "-1.5", "+3e-5", "fps", "a=b", "", "-"])
def test_numbers_and_other_text_stay(value):
    assert csv_value(value) == ("'-" if value == "-" else value)


def test_a_tab_in_front_does_not_hide_a_formula():
    assert csv_value("\t=1+1") == "\\t=1+1"  # spelled out, it is text
