"""The answer in a few sentences, computed from the runs and never stronger than they are.

The first is about memories; where there are none, about the best entry. All intervals are at 95 %, uncorrected.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from gotta.report.cells import MARKS, ORDER
from gotta.report.pairs import Difference, difference, fair_difference
from gotta.report.panel import Entries, Entry, Panel, at_best
from gotta.report.rows import NO_MEMORY, RUNNING, SAME_SAMPLES, Column, list_in_words
from gotta.report.statistics import PAIRS, Estimate, enough_for_a_verdict
from gotta.report.tables.gains import find_twins
from gotta.safe_text import tell_number

DOMAINS = 3  # with fewer, an interval over other domains is as wide as the scale
NAMED = 3  # things that a sentence names; more are counted
CONTROL = "running statistics without a memory"
USES_ORDER = ", which uses the order of samples"


@dataclass(frozen=True, eq=False)
class Finding:
    """What one method says of memories: the best one less each other one, less none, and less the control.

    `at_best` are the memory and the control, each at its best rate.
    """

    best: Entry
    gaps: Mapping[Entry, Difference]
    none: Entry | None
    gain: Difference | None
    over_control: Difference | None
    at_best: tuple[Entry, Entry] | None

    @property
    def stands_out(self) -> bool:
        """Is the best memory significantly better than every other one?"""
        return bool(self.gaps) and all(gap.verdict for gap in self.gaps.values())

    @property
    def told_gain(self) -> str:
        """Against no memory. Where the two are not comparable, both numbers and the reason."""
        if self.gain is None or self.none is None:
            return ""
        if self.gain.estimate is None:
            return f"; no memory has {self.none.shown}, not comparable: {'; '.join(self.gain.refused[:1])}"
        steps = " at the same samples per step" if self.none.row.is_control else ""
        return f", {tell_difference(self.gain, f'no memory{steps}')}"

    @property
    def sentence(self) -> str:
        name, shown = self.best.row.label, self.best.shown
        most = f"{name} is the best of {len(self.gaps) + 1} memories at {shown}"
        parts = [(most if self.gaps else f"the memory is {name} at {shown}") + self.told_gain]
        it = name if self.gain is not None and self.gain.estimate is None else "it"
        parts += [f"{it} is {tell_difference(self.over_control, CONTROL)}"] if self.over_control else []
        if self.at_best is not None:
            ours, theirs = self.at_best
            gap = fair_difference(ours.runs, theirs.runs)
            rates = [f"{entry.rate:g}" for entry in self.at_best]
            against = tell_difference(gap, f"that control ({rates[1]})")
            parts.append(f"each at its best rate, {ours.row.usual.label} ({rates[0]}) is {against}")
        return f"{self.best.column.label}: {'; '.join(parts)}."


@dataclass(frozen=True, eq=False)
class Answer:
    """What one table says: a headline, at most three lines of what it means, and the details.

    `best` are the entries with the highest number of those that are ranked.
    """

    headline: str = "There are no finished runs."
    lines: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    best: tuple[Entry, ...] = ()

    def __str__(self) -> str:
        return " ".join([self.headline, *self.lines, *self.details])


def answer(panel: Panel) -> Answer:
    """Computed from the runs of one table."""
    if not panel.runs:
        return Answer()
    found = [one for column, rows in panel.methods.items() if (one := _finding(column, rows)) is not None]
    ranked = [entry for entry in panel.entries if entry.is_ranked and entry.accuracy.value is not None]
    top = max(ranked, key=lambda entry: entry.mean, default=None)
    best = tuple(entry for entry in ranked if top is not None and entry.shown == top.shown)
    headline = _tell_memories(found) if found else _tell_best(panel, best, len(ranked))
    lines = [_tell_controls(found), _tell_certainty(panel, found, ranked), _tell_others(panel, found, best, ranked)]
    details = [*(finding.sentence for finding in found), *_tell_cause(panel, best)]
    return Answer(headline, tuple(filter(None, lines)), tuple(details), tuple(found), best)


def overall(answers: Sequence[Answer]) -> str:
    """Several set-ups in a sentence; empty where one speaks for itself or there is nothing to count."""
    verdicts = [finding.gain.verdict for one in answers for finding in one.findings if finding.gain is not None]
    judged = [verdict for verdict in verdicts if verdict is not None]
    if len(answers) < 2 or len(judged) < 2:
        return ""
    where = f"{len(judged)} comparisons over {len(answers)} set-ups"
    return f"A memory is significantly better than none in {judged.count(1)} of {where}."


def tell_difference(found: Difference, than: str) -> str:
    """A paired difference in words: `4.1 ± 1.0 above ...`."""
    gap = found.estimate
    if gap is None:
        return f"not comparable with {than}: {'; '.join(found.refused[:1])}"
    if gap.mean == 0 and gap.range == (0.0, 0.0):
        return f"equal to {than} in every domain"
    if found.verdict == 0:
        return f"not significantly different from {than} ({tell_signed(gap)})"
    return f"{tell_points(gap)} {'above' if gap.mean > 0 else 'below'} {than}"


def tell_points(found: Estimate) -> str:
    return f"{abs(found.mean):.1f}" + ("" if found.half is None else f" ± {found.half:.1f}")


def tell_signed(found: Estimate) -> str:
    return f"{'+' if found.mean >= 0 else '-'}{tell_points(found)}"


def _finding(column: Column, rows: Entries) -> Finding | None:
    """Where a method has a memory beside something to compare it with: none, or another one."""
    memories = [entry for row, entry in rows.items() if row.is_memory and entry.accuracy.value is not None]
    usual = [entry for entry in memories if not entry.row.best_rates] or memories
    if column.uses_order or not usual:
        return None
    best = max(usual, key=lambda entry: entry.mean)
    none = _without_memory(rows, best)
    if none is None and len(usual) == 1:
        return None

    def less(entry: Entry | None) -> Difference | None:
        return fair_difference(best.runs, entry.runs) if entry else None

    gaps = {entry: fair_difference(best.runs, entry.runs) for entry in usual if entry is not best}
    return Finding(best, gaps, none, less(none), less(rows.get(RUNNING)), _pair_at_best(memories, rows))


def _without_memory(rows: Entries, memory: Entry) -> Entry | None:
    """What to compare a memory with: the row without one, or the control that takes as many samples per step.

    A row that takes other steps would say what the size of a step does, so the control goes before it.
    """
    known = [rows[row] for row in (NO_MEMORY, SAME_SAMPLES) if row in rows]
    return next((entry for entry in known if entry.steps == memory.steps), rows.get(NO_MEMORY))


def _pair_at_best(memories: Sequence[Entry], rows: Entries) -> tuple[Entry, Entry] | None:
    """The best memory and the control, each at its best rate; nothing where the table has no such rows.

    The best rate of the control may be the usual one.
    """
    usual = rows.get(RUNNING)
    control = at_best(rows, RUNNING) or (usual if usual and usual.at_best_rate else None)
    tuned = [entry for entry in memories if entry.at_best_rate]
    if control is None or not tuned or not any(row.best_rates for row in rows):
        return None
    return max(tuned, key=lambda entry: entry.mean), control


def _tell_memories(found: Sequence[Finding]) -> str:
    rates = " at the default rate" if any(finding.at_best for finding in found) else ""
    if len(found) <= NAMED:
        told = [f"{one.best.row.label} for {one.best.column.label} ({one.best.shown}{one.told_gain})" for one in found]
        return f"Best memory{rates}: {'; '.join(told)}."
    often, times = Counter(finding.best.row.label for finding in found).most_common(1)[0]
    best = f"{often} ({times} of {len(found)} methods)"
    gains = [one.gain.estimate for one in found if one.gain is not None and one.gain.estimate is not None]
    verdicts = [gap.verdict for gap in gains if gap.verdict is not None]
    if not gains:
        return f"Most often the best memory{rates}: {best}."
    better = f"significantly better than none for {verdicts.count(1)} of {len(verdicts)}"
    if not verdicts:
        better = f"better than none for {sum(gap.mean > 0 for gap in gains)} of {len(gains)}"
    return f"A memory is {better} methods; most often the best{rates}: {best}."


def _tell_best(panel: Panel, best: Sequence[Entry], count: int) -> str:
    if not best:
        known = [f"{entry.name} ({entry.shown})" for entry in panel.entries]
        return f"Nothing to choose from: only {_list(known, 'controls')}."
    told = _lead(best, f"of {count} entries") if count > 1 else f"The only entry: {best[0].name} ({best[0].shown})"
    source = panel.source
    if source is None:
        return f"{told}."
    return f"{told}, {tell_difference(difference(best[0].runs, source.runs), 'the source model')}."


def _tell_controls(found: Sequence[Finding]) -> str:
    """What a moving average without a memory would have done."""
    known = [(one.best, one.over_control) for one in found if one.over_control is not None]
    if len(known) > NAMED:
        above = sum(gap.estimate is not None and gap.estimate.mean > 0 for _, gap in known)
        return f"The best memory is above {CONTROL} for {above} of {len(known)} methods."
    told = [f"{entry.name} is {tell_difference(gap, 'it' if k else CONTROL)}" for k, (entry, gap) in enumerate(known)]
    return f"{'; '.join(told)}." if told else ""


def _tell_certainty(panel: Panel, found: Sequence[Finding], ranked: Sequence[Entry]) -> str:
    """Which differences are significant; said once if the runs are too few to tell."""
    domains, seeds = max(len(run.domains) for run in panel.runs), len({run.seed for run in panel.runs})
    if len(ranked) < 2:
        return ""
    if not enough_for_a_verdict(seeds, domains):
        few = f"{tell_number(seeds, 'seed')} and {tell_number(domains, 'domain')}"
        return f"Too few to tell differences from chance ({few}).{_tell_command(panel, domains, seeds)}"
    clear = [f"{one.best.row.label} for {one.best.column.label}" for one in found if one.stands_out]
    told = [f"Significantly better than every other memory: {list_in_words(clear)}."] if clear else []
    for one in found if len(found) <= NAMED else ():
        tied = [entry.row.label for entry, gap in one.gaps.items() if gap.tied]
        told += [f"Not significantly different from {one.best.name}: {_list(tied, 'memories')}."] if tied else []
    open_gaps = [gap for one in found for gap in one.gaps.values() if not gap.verdict and not gap.tied]
    wide = [gap.estimate.half or 0.0 for gap in open_gaps if gap.estimate]
    if wide:
        half = f" (intervals up to ± {max(wide):.0f})" if domains >= DOMAINS else ""
        told.append(f"Undecided: {len(wide)} other {'memory' if len(wide) == 1 else 'memories'}{half}.")
    return " ".join(told) + (_tell_command(panel, domains, seeds) if wide else "")


def _tell_command(panel: Panel, domains: int, seeds: int) -> str:
    """With enough seeds for a verdict, or twice as many as were not enough."""
    name = next((name for run in panel.runs if isinstance(name := run.stored.recipe.get("name"), str)), "")
    if seeds > 2 and domains < DOMAINS:  # more seeds would say nothing about other domains
        return f" More domains would tell{f': `gotta bench {name} stream.domains=...`' if name else ''}."
    least = max(3, ceil(PAIRS / max(1, domains)))
    enough = ",".join(map(str, range(least if seeds < least else 2 * seeds)))
    return f" `gotta bench {name} --seeds {enough}` would tell." if name else " More seeds would tell."


def _tell_others(panel: Panel, found: Sequence[Finding], best: Sequence[Entry], ranked: Sequence[Entry]) -> str:
    """The best of the whole table if it is not a memory, and the source model if nothing reaches it."""
    told: list[str] = []
    if not best:
        return ""
    if found and best[0].mean > max(one.best.mean for one in found):
        order = USES_ORDER if all(one.column.uses_order for one in best) else ""
        told.append(f"{_lead(best, f'of all {len(ranked)} entries')}{order}.")
    elif not found and best[0].column.uses_order:
        bare = max((one for one in ranked if not one.column.uses_order), key=lambda one: one.mean, default=None)
        every = f"Every entry {MARKS[ORDER]}."
        told.append(f"Best without using the order of samples: {bare.name} ({bare.shown})." if bare else every)
    above = [e for e in panel.entries if not e.is_ranked and not e.accuracy.no_effect and e.mean > best[0].mean]
    controls = [f"{e.column.label} + {e.row.short} ({e.shown})" for e in above if e.row.is_control]
    told += [f"Higher, but a control: {_list(controls, 'controls')}."] if controls else []
    source = [entry for entry in above if entry.column.is_source]
    told += [f"Nothing reaches {source[0].name} ({source[0].shown})."] if source else []
    return " ".join(told)


def _tell_cause(panel: Panel, best: Sequence[Entry]) -> list[str]:
    """How much of the best entry's margin over running statistics comes from its statistics, and from its prior."""
    alone = find_twins(panel).get(best[0]) if best else None
    controls = [rows[RUNNING] for rows in panel.methods.values() if RUNNING in rows]
    if alone is None or not controls:
        return []
    entry, control = best[0], max(controls, key=lambda one: one.mean)
    pairs = ((entry.runs, control.runs), (entry.runs, alone), (alone, control.runs))
    whole, *gaps = (fair_difference(*pair) for pair in pairs)
    known = [tell_signed(gap.estimate) for gap in gaps if gap.estimate is not None]
    if whole.estimate is None or len(known) < 2:
        return []
    prior, statistics = known
    kind = f"{entry.runs[0].spec.method.statistics or 'its'} statistics"
    return [f"{entry.name} is {tell_difference(whole, CONTROL)}: {prior} from the prior and {statistics} from {kind}."]


def _lead(best: Sequence[Entry], where: str) -> str:
    """The first by name; of many with the same number, their number."""
    if len(best) > NAMED:
        return f"First {where}: {len(best)} with the same number ({best[0].shown})"
    return f"Best {where}: {list_in_words([entry.name for entry in best])} ({best[0].shown})"


def _list(names: Sequence[str], more: str) -> str:
    """A few by name, more by their number."""
    return f"{len(names)} {more}" if len(names) > NAMED else list_in_words(names)
