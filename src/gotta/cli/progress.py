"""Progress of a sweep: bars on a terminal, a line per finished run elsewhere."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from time import monotonic

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from gotta.cli.terminal import Console
from gotta.experiment.sweep.sweep import Event, Listener
from gotta.report.cells import Table
from gotta.report.results import Chapter
from gotta.report.tables.render import explain_marks, plain
from gotta.safe_text import tell_few, tell_seconds
from gotta.train import Progress as TrainingProgress

SHOWN = 20  # bars on a terminal, and runs that a line names
QUIET = 30.0  # without a terminal: seconds of silence before a line says what is running; doubled each time


def show_table(console: Console, table: Table, details: bool = True) -> None:
    """Lines longer than the terminal are left to it, because a cut number would mislead."""
    console.print(plain(table, details), soft_wrap=True)


def show_chapters(
    console: Console, chapters: Sequence[Chapter], metric: str = "accuracy", details: bool = False
) -> None:
    """The first set-up, and the headlines of the others; with `details` all of them, and all that is known."""
    for chapter in chapters if details else chapters[:1]:
        if chapter.of > 1:
            console.rule(chapter.panel.title, align="left")
        _show_chapter(console, chapter, metric, details)
    for chapter in () if details else chapters[1:]:
        console.print(f"{chapter.panel.title}: {chapter.answer.headline}")
    if len(chapters) > 1 and not details:
        console.print("The page has the tables of all set-ups; so has --details.", style="dim")


def _show_chapter(console: Console, chapter: Chapter, metric: str, details: bool) -> None:
    """The headline, the tables, what their marks mean, and at most three lines of what they say."""
    tables, told = chapter.tables(metric), len(chapter.panel.runs) > 1
    if told:
        console.print(chapter.answer.headline, style="bold")
    for table in tables:
        show_table(console, table, details)
    notes = [] if details else dict.fromkeys(note for table in tables for note in table.footnotes)
    for line in ("" if details else explain_marks(*tables), *notes):
        if line:
            console.print(line, style="dim")
    for line in (*chapter.answer.lines, *(chapter.answer.details if details else ())) if told else ():
        console.print(line)


def follow(console: Console, labels: Mapping[str, str]) -> AbstractContextManager[Listener]:
    """A listener for a sweep over the runs with these labels, by id."""
    bars = labels and console.is_terminal
    return _bars(console, labels) if bars else nullcontext(_lines(console, labels))


def time_left(done: int, total: int, since: float) -> str:
    """A guess from the pace so far."""
    if not done:
        return ""
    return f"{tell_seconds((monotonic() - since) / done * (total - done))} left"


def _lines(console: Console, labels: Mapping[str, str]) -> Listener:
    """A line per finished run, and now and then one that says what is running."""
    since, done = monotonic(), 0
    last, quiet = since, QUIET
    running: dict[str, str] = {}

    def say(text: str) -> None:
        nonlocal last
        last = monotonic()
        console.print(text, soft_wrap=True)

    def listen(event: Event) -> None:
        nonlocal done, quiet
        if event.kind == "moved":
            at = f"at step {event.step} of {event.steps}, accuracy {event.accuracy:.1f}"
            running[event.id] = f"{labels[event.id]} {at}"
            if monotonic() - last >= quiet:
                quiet *= 2  # so that a slow machine does not fill the screen
                say(f"[{done}/{len(labels)}] running: {tell_few(list(running.values()), SHOWN, '; ')}")
        elif event.kind == "notice":
            say(f"{labels[event.id]}: {event.message}")
        elif event.kind in ("finished", "failed"):
            done += 1
            running.pop(event.id, None)
            result = f"accuracy {event.accuracy:.2f}" if event.kind == "finished" else f"FAILED: {event.message}"
            say(f"[{done}/{len(labels)}] {labels[event.id]}: {result}   {time_left(done, len(labels), since)}")

    return listen


@contextmanager
def _bars(console: Console, labels: Mapping[str, str]) -> Iterator[Listener]:
    columns = (
        TextColumn("{task.description:<44}", markup=False),
        BarColumn(30),
        TextColumn("{task.fields[note]:<18}", markup=False),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        overall = progress.add_task(f"0 of {len(labels)} runs", total=len(labels), note="")
        rows: dict[str, TaskID] = {}
        since, done = monotonic(), 0

        def listen(event: Event) -> None:
            nonlocal done
            # A run of another sweep is first heard of in its middle.
            if event.kind in ("started", "moved") and event.id not in rows and len(rows) < SHOWN:
                rows[event.id] = progress.add_task("  " + labels[event.id], total=None, note="")
            if event.kind == "moved" and event.id in rows:
                note = f"accuracy {event.accuracy:.1f}"
                progress.update(rows[event.id], completed=event.step, total=event.steps, note=note)
            elif event.kind == "notice":
                progress.console.print(f"{labels[event.id]}: {event.message}")
            elif event.kind in ("finished", "failed"):
                done += 1
                if event.id in rows:
                    progress.remove_task(rows.pop(event.id))
                note = time_left(done, len(labels), since)
                progress.update(overall, completed=done, note=note, description=f"{done} of {len(labels)} runs")
                if event.kind == "failed":
                    progress.console.print(f"FAILED {labels[event.id]}: {event.message}")

        yield listen


@contextmanager
def training() -> Iterator[Callable[[TrainingProgress], None]]:
    """A line that shows epoch, accuracy and time left; a line per epoch where there is no terminal."""
    console = Console()
    with console.status("reading images") as status:

        def report(now: TrainingProgress) -> None:
            at = f"epoch {now.epoch}/{now.epochs}  step {now.step}/{now.steps}"
            text = f"{at}  training accuracy {now.accuracy:.2f} %  {now.seconds_left / 60:.1f} min left"
            status.update(text)
            if now.step == now.steps:
                console.print(text)

        yield report


@contextmanager
def counted(what: str) -> Iterator[Callable[[int, int | None], None]]:
    """Shows how much is done, of how much if known, and the time left; without a terminal in some ten lines."""
    console, since = Console(), monotonic()
    shown, first = -1, 0
    with console.status(what) as status:

        def report(done: int, total: int | None) -> None:
            nonlocal shown, first
            first = first or done  # what was there before took no time now
            text = f"{done:,} {what}" if total is None else f"{done:,} of {total:,} {what}"
            status.update(f"{text}   {time_left(done - first, total - first, since) if total else ''}")
            if not console.is_terminal and total and 10 * done // total > shown:
                shown = 10 * done // total
                console.print(text)

        yield report
