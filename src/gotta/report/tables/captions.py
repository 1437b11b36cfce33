"""The sentences under a table that say which set-up it shows, collected from the specs of its runs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from gotta.experiment.spec.sections import PRIOR
from gotta.groups import group
from gotta.report.panel import Panel, Runs
from gotta.report.setting_words import STREAM, show_value
from gotta.report.stored_run import CODE, Run
from gotta.streams import StreamSpec

SHOWN = 4
USUAL = asdict(StreamSpec())
READ = {"dirichlet": ("gamma",), "note": ("beta",), "runs": ("gamma", "run_length"), "recurring": ("repeats",)}
PRIORS = {
    "none": "no prior",
    "sticky": "a prior that expects the class of the last sample again (sticky)",
    "patient": "a prior that expects the class of the last sample again, in long runs too (patient)",
    "ema": "a prior that follows the last predictions (ema)",
    "oatta": "a prior that learns which class follows which (oatta)",
}
STATISTICS = {
    "source": "the source's own statistics",
    "batch": "the statistics of the batch",
}
OTHERWISE = {  # settings of a prior, told where they are not the usual ones
    ("labels", "raw"): "memory and statistics go by the network's own prediction",
    ("order_in_batch", "none"): "the order inside a batch is not used",
}
TOLD = ("name", "capacity", "statistics", "fed_by", "rate", "embedding", *PRIOR)  # have words of their own
PAIRINGS = {
    "paper": "each method predicts as its authors have it (pairing paper)",
    "memory": "every method predicts with running statistics that the memory moves (pairing memory)",
    "safe": "no prediction depends on which classes share its batch (pairing safe)",
}
RESETS = {
    "never": "nothing is reset between domains (continual)",
    "each_domain": "the model is reset at each domain (episodic)",
    "each_batch": "the model is reset at each batch",
}


def setup_lines(panel: Panel) -> list[str]:
    """Data, network, stream, memory, steps, seeds, and what methods and memories are set to; what differs is said."""
    runs = panel.runs
    if not runs:
        return []
    images = [domain.samples for run in runs for domain in run.summary.online.domains if domain.samples]
    capacities = [run.spec.memory.capacity for run in runs if run.spec.memory.capacity is not None]
    pairings = [PAIRINGS.get(run.spec.pairing, f"pairing {run.spec.pairing}") for run in runs]
    lines = [
        f"Samples: {_either(images)} of {_part(runs, 'data')} in each domain.",
        f"Network: {_part(runs, 'model')}.",
        f"Stream: {_stream(runs)}.",
        f"Memory: capacity {_either(capacities)}; {_either(pairings)}.",
        f"Steps: {_by_row(map(_step, runs))}; {_by_row(map(_regime, runs))}.",
        f"Seeds: {', '.join(map(str, sorted({run.seed for run in runs})))}.",
    ]
    lines = [f"Recipe: {panel.recipe}.", *lines] if panel.recipe else lines
    return [*lines, *_choices(runs, "method"), *_choices(runs, "memory"), *origin_lines(runs)]


def environment_lines(panel: Panel) -> list[str]:
    """What the runs were made with, a line for each entry."""
    names = dict.fromkeys(name for run in panel.runs for name in run.environment)
    return [f"{name}: {_either(run.environment.get(name) for run in panel.runs)}" for name in names]


def _part(runs: Runs, section: str) -> str:
    """A data set or network by name, with its arguments."""
    values = _by_name(runs, section)
    arguments = [f"{name} {_either(given)}" for name, given in values.items() if name != "name" and any(given)]
    return _either(values["name"]) + (f" ({', '.join(arguments)})" if arguments else "")


def _stream(runs: Runs) -> str:
    """Order, schedule and severity always, other settings where they are not the usual ones."""
    values = _by_name(runs, "stream")
    told = [_either(_stream_part(run, name, words) for run in runs) for name, words in STREAM.items()]
    told += [f"severity {_either(values['severity'])}"] if any(values.get("severity", [])) else []
    known = {*STREAM, "severity", *(name for names in READ.values() for name in names)}
    more = [name for name in values if name not in known and any(value != USUAL.get(name) for value in values[name])]
    return ", ".join([*told, *(f"{name} {_either(values[name])}" for name in more)])


def _stream_part(run: Run, part: str, words: Mapping[str, str]) -> str:
    """An order or a schedule in words, with its name and what it reads."""
    chosen = getattr(run.stream, part)
    told = {name: getattr(run.stream, name) for name in READ.get(chosen, ())}
    read = [f"{name} {show_value(value)}" for name, value in told.items() if value is not None]
    name = ", ".join([f"{part} {chosen}", *read])
    return f"{words[chosen]} ({name})" if chosen in words else name


def _step(run: Run) -> str:
    """How many samples a step has, and when it adapts."""
    regime = run.spec.regime
    size, every = regime.batch_size, regime.adapt_every or regime.batch_size
    return f"{every} samples" if size == every else f"{every} samples, predicted {size} at a time"


def _regime(run: Run) -> str:
    """What is reset, which prediction is scored, and whether the stream waits."""
    regime = run.spec.regime
    parts = [RESETS.get(regime.reset, f"reset {regime.reset}")]
    parts += ["the prediction after adapting is scored"] if regime.score == "after" else []
    if regime.clock != "none":
        parts.append(f"the stream does not wait (clock {regime.clock}, pace {show_value(regime.pace)})")
    if regime.exposure.is_limited:
        parts.append(f"the method may adapt to a part of the batches only ({regime.exposure})")
    return ", ".join(parts)


def _choices(runs: Runs, section: str) -> list[str]:
    """A sentence for each method or memory that has settings: its statistics in words, the others by name."""
    lines = []
    for name, members in sorted(group(runs, lambda run: str(run.settings[f"{section}.name"])).items()):
        has = section == "method"
        words = [f"predicts with {_by_row(map(_statistics, members))}", *_prior(members)] if has else []
        values = _by_name(tuple(members), section)
        embeddings = set(values.get("embedding", [])) - {None, "probs"}
        words += [f"compares samples by their {_either(sorted(embeddings))}"] if embeddings else []
        words += [f"{key} {_either(given)}" for key, given in values.items() if key not in TOLD and any(given)]
        lines += [f"{name}: {'; '.join(words)}."] if words else []
    return lines


def _prior(runs: Sequence[Run]) -> list[str]:
    """What the predictions know of the classes before, where any of these have a prior."""
    names = [run.prior for run in runs]
    if set(names) == {"none"}:
        return []
    chosen = {(name, getattr(run.spec.method, name)) for run in runs for name in ("labels", "order_in_batch")}
    unusual = [words for setting, words in OTHERWISE.items() if setting in chosen]
    return [f"has {_by_row(PRIORS.get(name, f'prior {name}') for name in names)}", *unusual]


def _statistics(run: Run) -> str:
    """What the predictions of a run are normalised with."""
    method, source = run.spec.method, run.spec.method.statistics
    if source == "running":
        return f"running statistics that the {method.fed_by or 'memory'} moves (rate {show_value(method.rate)})"
    return STATISTICS.get(str(source), "the method's own statistics" if source is None else f"{source} statistics")


def _by_name(runs: Runs, section: str) -> dict[str, list[Any]]:
    """The values that the runs have of each setting of a section, of arguments if one of them is not usual."""
    names = dict.fromkeys(name for run in runs for name in run.section(section))
    return {
        name.removeprefix(f"{section}."): [run.made_of[name] for run in runs if name in run.made_of] for name in names
    }


def _either(values: Iterable[Any]) -> str:
    """One value, or the first few of them."""
    distinct = list(dict.fromkeys(map(show_value, values))) or ["not stated"]
    if len(distinct) < 2:
        return distinct[0]
    shown = distinct[:SHOWN]
    last = f"{len(distinct) - SHOWN} others" if len(distinct) > SHOWN else shown.pop()
    return f"{', '.join(shown)} or {last}"


def _by_row(values: Iterable[str]) -> str:
    """The same in the middle of a sentence about rows."""
    distinct = list(dict.fromkeys(values))
    return _either(distinct) + (", depending on the row" if len(distinct) > 1 else "")


def origin_lines(runs: Sequence[Run]) -> list[str]:
    """What a reader of a table must know of where its numbers are from; nothing if they are all alike."""
    lines = []
    versions = sorted({run.version for run in runs if run.version})
    if len(versions) > 1:
        lines.append(f"Made with several versions of gotta: {', '.join(versions)}.")
    for section in ("memory", "method"):
        names = (f"{section}.name", f"{section}.{CODE}")
        codes = {tuple(str(run.made_of[name]) for name in names) for run in runs if names[1] in run.made_of}
        for name, found in group(sorted(codes), lambda pair: pair[0]).items():
            told = ", ".join(code for _, code in found)
            lines += [f"Kept apart: {section} {name} was run with different code ({told})."] if len(found) > 1 else []
    bare = sum(run.stored.finished is not None and not run.stored.has_steps for run in runs)
    if bare:
        which = "These runs are" if bare == len(runs) else f"{bare} of the {len(runs)} runs are"
        lines.append(f"{which} kept without records of their steps, so curves over the stream are left out.")
    notes = dict.fromkeys(note for run in runs for note in run.summary.notes)
    return [*lines, *(f"Note: {note}" for note in notes)]
