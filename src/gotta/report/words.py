"""Differences in words."""

from gotta.report.statistics import Estimate


def points(found: Estimate) -> str:
    return f"{abs(found.mean):.1f}" + ("" if found.half is None else f" ± {found.half:.1f}")


def show_signed(found: Estimate) -> str:
    return f"{'+' if found.mean >= 0 else '-'}{points(found)}"


def side(found: Estimate) -> str:
    return "above" if found.mean > 0 else "below"
