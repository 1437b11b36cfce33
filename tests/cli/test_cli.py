"""The command as a user types it."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from gotta.cli.__main__ import main
from gotta.memory import policies

EARLIER = Path(__file__).parents[1] / "experiment" / "sweep" / "earlier_store"
ENVIRONMENT = {**os.environ, "COLUMNS": "140", "NO_COLOR": "1", "OMP_NUM_THREADS": "1"}
MINE = '''
from dataclasses import dataclass

from gotta.memory import Decision, Policy


@dataclass(frozen=True)
class Newest(Policy):
    """Keeps overwriting one row."""

    def place(self, table, new, rng):
        return Decision(0, "newest")
'''


@pytest.fixture(autouse=True)
def as_in_a_shell(monkeypatch):
    """A wide terminal without colours; what the command does to its process is undone."""
    for name, value in {"COLUMNS": "140", "NO_COLOR": "1", "OMP_NUM_THREADS": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "path", list(sys.path))


def gotta(*arguments, cwd=".", code=0, stream=""):
    """What the command prints: to standard output if it is to succeed, else to standard error unless told."""
    out, err = StringIO(), StringIO()
    sys.argv[1:], before = [str(argument) for argument in arguments], sys.argv[1:]
    with redirect_stdout(out), redirect_stderr(err), chdir(cwd), pytest.raises(SystemExit) as left:
        main()
    sys.argv[1:] = before
    assert (left.value.code or 0) == code, out.getvalue() + err.getvalue()
    return (out if stream == "out" or not code else err).getvalue()


def test_help_has_examples():
    assert "gotta bench --quick" in gotta("--help")
    for command in (["bench"], ["run"], ["report"], ["ls"], ["train"], ["stream", "show"], ["data", "make"]):
        assert "gotta " in gotta(*command, "--help")


def test_ls_names_everything():
    listed = gotta("ls")
    for name in ("fps", "reservoir", "tent", "resnet20", "cifar10-mini", "glass_blur", "dirichlet", "gradual", "mini"):
        assert re.search(rf"\b{name}\b", listed), name
    assert "tent" not in gotta("ls", "memories")


def test_ls_does_not_cut_sentences():
    listed = gotta("ls")
    entries = [entry for entry in re.split(r"\n(?=\S|  \S)", listed) if entry.startswith("  ")]
    assert len(entries) > 100
    text = " ".join(listed.split())
    assert " ".join(policies.get("fps").__doc__.split("\n\n")[0].split()) in text
    for kind in ("memories", "methods", "orders", "schedules"):
        for entry in re.split(r"\n(?=  \S)", gotta("ls", kind).rstrip())[1:]:
            assert " ".join(entry.split()).endswith((".", ")", "...")), entry


@pytest.mark.parametrize(("typed", "offered"), [("gotta be", "bench"), ("gotta bench tab", "table-m64")])
def test_the_shell_completes_commands_and_recipes(typed, offered):
    words = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1), "_GOTTA_COMPLETE": "complete_bash"}
    command = [sys.executable, "-m", "gotta.cli"]
    shown = subprocess.run(command, env={**ENVIRONMENT, **words}, capture_output=True, text=True).stdout
    assert offered in shown.split()
    assert "--install-completion" in gotta("--help")


def test_show_tells_every_setting():
    assert "nu: 0.001" in gotta("show", "rotta")
    assert "epsilon: 0.005" in gotta("show", "fps")
    assert "Did you mean 'rotta'" in gotta("show", "rota", code=2)


def test_a_run_shows_its_spec_and_runs_again_from_it(tmp_path):
    settings = ("method.name=tent", "method.lr=1e-4", "memory.name=fps", "memory.capacity=8", "memory.epsilon=0.01")
    small = ("stream.per_class=1", "stream.domains=snow")
    gotta("run", *settings, *small, "--out", tmp_path)
    (folder,) = (tmp_path / "runs").iterdir()
    shown = gotta("show", folder)
    assert "lr: 0.0001" in shown
    assert gotta("show", folder.name[:6], "--store", tmp_path) == shown
    (tmp_path / "spec.yaml").write_text(shown)
    assert gotta("run", tmp_path / "spec.yaml", "--show") == shown
    assert "lr: 0.5" in gotta("run", tmp_path / "spec.yaml", "method.lr=0.5", "--show")
    assert "Did you mean 'method.lr'" in gotta("run", tmp_path / "spec.yaml", "method.lrr=1", code=2)
    (tmp_path / "spec.yaml").write_text("- 1")
    assert "is not a spec" in gotta("run", tmp_path / "spec.yaml", code=2)


def test_a_dry_run_says_how_many_how_long_and_takes_settings(tmp_path):
    arguments = ("bench", "table1", "--quick", "--method", "tent", "--memory", "fps", "--out", tmp_path, "--dry-run")
    shown = gotta(*arguments, "stream.per_class=1", "-s", "method.lr=1e-4")
    assert "7 runs, 0 finished before, 7 to do" in shown
    assert re.search(r"runs per seed +tent\nnone +1\nfps +1\ncontrol: running statistics +1\n", shown)
    assert "seed 0: 7 runs, 0 finished before\n" in shown
    assert "tent + fps, seed 0" not in shown
    assert re.search(r"\n  [0-9a-f]{16}  tent \+ fps, seed 0\n", gotta(*arguments, "stream.per_class=1", "--ids"))
    assert re.search(r"about \d+ (s|min)", shown)
    assert not (tmp_path / "runs").exists()
    assert "Did you mean 'method.lr'" in gotta(*arguments, "method.lrr=1", code=2)


def test_what_is_missing_is_said_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("GOTTA_DATA", str(tmp_path))
    shown = gotta("bench", "mini", "--data", "cifar10", "--model", "none.safetensors", "--out", tmp_path / "o", code=2)
    assert "2 things are missing" in shown
    assert "cifar-10-python.tar.gz" in shown
    assert "\n    gotta data download cifar10\n" in shown
    assert "none.safetensors" in shown
    told = gotta("bench", "mini", "--data", "cifar10", "--dry-run", "--out", tmp_path / "o", code=1, stream="out")
    assert told.startswith("1 thing is missing for these runs:")
    assert told.index("gotta data download") < told.index("runs per seed")
    assert not (tmp_path / "o").exists()


def test_one_run_and_its_report(tmp_path):
    settings = ("method.name=norm", "memory.name=fps", "memory.capacity=8", "stream.per_class=1")
    shown = gotta("run", *settings, "--out", tmp_path)
    assert "fps" in shown
    assert "Report:" in shown
    first = (tmp_path / "tables.md").read_bytes()
    (tmp_path / "tables.md").unlink()
    assert "norm" in gotta("report", tmp_path)
    assert (tmp_path / "tables.md").read_bytes() == first


def test_a_recorded_run_shows_its_memory(tmp_path):
    settings = ("method.name=norm", "memory.name=fps", "memory.capacity=8", "stream.per_class=1")
    gotta("run", *settings, "--record", "--out", tmp_path)
    (path,) = (tmp_path / "records").glob("*.json")
    assert (tmp_path / "runs" / path.stem / "summary.json").exists()
    record = json.loads(path.read_text())
    assert len(record["frames"][-1]["rows"]) == 8
    assert record["sprite"].startswith("data:image/jpeg;base64,")
    assert record["classes"][3] == "3 cat"
    assert f'id="record-{path.stem}"' in (tmp_path / "report.html").read_text()


@pytest.mark.thorough
def test_a_recorded_sweep_records_its_first_seed_and_says_what_is_run_again(tmp_path):
    small = ("stream.per_class=1", "stream.domains=snow", "--memory", "fifo", "--method", "norm")
    arguments = ("bench", "mini", *small, "--seeds", "4,2", "--jobs", 1, "--out", tmp_path)
    (tmp_path / "runs").mkdir()
    runs = len(re.findall(", seed 4", gotta(*arguments, "--dry-run", "--ids")))
    gotta(*arguments)
    shown = gotta(*arguments, "--record", "--dry-run")
    assert f"{2 * runs} runs, {runs} finished before, {runs} to do" in shown
    assert (
        f"Recording {runs} of the {runs} runs of seed 4. {runs} of them {'is' if runs == 1 else 'are'} run again for it"
        in shown
    )
    gotta(*arguments, "--record")
    recorded = {path.stem for path in (tmp_path / "records").glob("*.json")}
    seeds = {json.loads((tmp_path / "runs" / id / "spec.json").read_text())["seed"] for id in recorded}
    assert (len(recorded), seeds) == (runs, {4})
    assert f"Recording 0 of the {runs} runs of seed 4; {runs} were recorded before." in gotta(*arguments, "--record")


def test_a_policy_of_ones_own_in_one_file(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    settings = ("method.name=norm", "memory.name=mine:Newest", "memory.capacity=8", "stream.per_class=1")
    shown = gotta("run", *settings, "stream.domains=snow", "--out", tmp_path / "out", cwd=tmp_path)
    del sys.modules["mine"]
    assert "mine:Newest" in shown


def test_stream_show_draws(tmp_path):
    text = gotta("stream", "show", "per_class=3", "domains=snow,fog", "--out", tmp_path / "s.png")
    assert "run" in text
    assert (tmp_path / "s.png").read_bytes().startswith(b"\x89PNG")


def test_check_tells_good_policies_from_bad_ones(tmp_path):
    assert "properties hold" in gotta("check", "fifo", "--examples", 2)
    (tmp_path / "beyond.py").write_text(MINE.replace("Decision(0,", "Decision(table.capacity,"))
    gotta("check", "beyond:Newest", "--examples", 2, cwd=tmp_path, code=1)
    del sys.modules["beyond"]


def test_a_recorded_stream_is_replayed_through_other_memories(tmp_path):
    settings = ("memory.name=fifo", "memory.capacity=8", "stream.per_class=1", "stream.domains=snow,fog")
    gotta("run", *settings, "--journal", tmp_path / "j.npz")
    shown = gotta("replay", tmp_path / "j.npz", "--memory", "fps,cstu")
    assert "20 samples" in shown
    assert re.search(r"fps +\d+", shown)
    assert "Exact" in shown
    gotta("run", *settings, "method.name=norm", "--journal", tmp_path / "k.npz")
    assert "Approximate" in gotta("replay", tmp_path / "k.npz", "--memory", "fps")
    (tmp_path / "j.npz").write_bytes(b"not a journal")
    assert "not a journal" in gotta("replay", tmp_path / "j.npz", code=2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["bench", "mni"], "Did you mean 'mini'"),
        (["bench", "--memory", "fsp"], "Did you mean 'fps'"),
        (["bench", "--seeds", "a"], "whole numbers"),
        (["bench", "--jobs", "-1"], "jobs"),
        (["bench", "--engine", "rai"], "Did you mean 'ray'"),
        (["bench", "--address", "auto"], "is for engine ray, not for local"),
        (["bench", "--engine", "slurm", "--slurm", "partition"], "name=value"),
        (["bench", "--snapshot-every", "0"], "snapshot_every > 0"),
        (["run", "method.name=tnt"], "Did you mean 'tent'"),
        (["run", "nothing.yaml"], "neither a spec file"),
        (["run", "memory.name=fps", "memory.capacity=0", "stream.gamma=0"], "2 mistakes"),
        (["report", "nowhere"], "no finished runs"),
        (["ls", "memorys"], "Did you mean 'memories'"),
        (["stream", "show", "gama=1"], "Did you mean 'gamma'"),
        (["stream", "show", "--data", "x"], "unknown"),
        (["data", "make", "cifar10-d", "--source", "x", "--out", "y"], "cifar10-c"),
        (["data", "make", "cifar10-c", "--source", "nowhere", "--out", "y"], "no CIFAR-10 at"),
        (["train", "resnet20", "--data", "nowhere", "--out", "x.safetensors"], "nowhere"),
    ],
)
def test_a_mistake_is_one_message_and_leaves_no_trace(tmp_path, arguments, words):
    message = gotta(*arguments, cwd=tmp_path, code=2)
    assert words in message
    assert list(tmp_path.iterdir()) == []


def test_an_unwritable_folder_is_told_before_anything_runs(tmp_path):
    (tmp_path / "file").write_text("")
    assert "file" in gotta("bench", "--quick", "--out", tmp_path / "file" / "below", code=2)


def test_a_damaged_run_is_told_and_run_again(tmp_path):
    recipe = tmp_path / "r.yaml"
    recipe.write_text(
        "title: Two\nbase: {stream: {per_class: 1, domains: [snow]}, memory: {capacity: 8}}\n"
        "seeds: [0]\ncells: [{method: [norm], memory: [fifo, fps]}]"
    )
    bench = ("bench", recipe, "--out", tmp_path / "out", "--jobs", "1")
    assert "Damaged" not in gotta(*bench)
    victim = sorted((tmp_path / "out" / "runs").iterdir())[0]
    (victim / "summary.json").write_text("{")
    shown = gotta(*bench)
    assert f"Damaged: run {victim.name}: summary.json is not valid JSON" in shown
    assert "1 finished before, 1 to do" in shown
    assert "Damaged" not in gotta(*bench)


def test_a_copied_run_is_told_and_counts_nowhere(tmp_path):
    settings = (
        "method.name=norm",
        "memory.name=fifo",
        "memory.capacity=8",
        "stream.per_class=1",
        "stream.domains=snow",
    )
    gotta("run", *settings, "--out", tmp_path / "out")
    (run,) = (tmp_path / "out" / "runs").iterdir()
    shutil.copytree(run, run.with_name("copy"))
    shown = gotta("run", *settings, "--out", tmp_path / "out")
    assert f"Damaged: run copy: what it holds is run {run.name}: it was renamed, copied or edited. It counts" in shown
    assert "1 finished, 1 damaged" in gotta("status", tmp_path / "out")


def test_runs_of_an_earlier_format_are_told_and_none_of_them_counts_as_finished(tmp_path):
    shutil.copytree(EARLIER, tmp_path / "out")
    shown = gotta("bench", EARLIER / "recipe.yaml", "--out", tmp_path / "out", "--dry-run")
    assert "4 runs here are of an earlier format" in shown
    assert "4 runs, 0 finished before, 4 to do" in shown
    assert "4 of the finished ones of an earlier format" in gotta("status", tmp_path / "out")
    gotta("report", tmp_path / "out")
    assert "Of an earlier format" in (tmp_path / "out" / "tables.md").read_text()
    assert len(gotta("export", tmp_path / "out").splitlines()) == 5


def test_failed_runs_are_told_even_if_there_is_no_report(tmp_path):
    (tmp_path / "bad.py").write_text(MINE.replace("return Decision", "raise ValueError('mine') or Decision"))
    recipe = tmp_path / "r.yaml"
    recipe.write_text(
        "title: Two\nbase: {stream: {per_class: 1, domains: [snow]}, memory: {capacity: 8}}\n"
        'seeds: [0]\nimports: [bad]\ncells: [{method: [norm], memory: [fifo, "bad:Newest"]}]'
    )
    (tmp_path / "out" / "tables.md").mkdir(parents=True)
    shown = gotta("bench", recipe, "--out", tmp_path / "out", "--jobs", "1", cwd=tmp_path, code=2)
    assert "1 runs failed; the others are kept" in shown
    assert "ValueError: mine" in shown
    assert "There is no report: cannot write" in shown


def test_dry_run_only_tells(tmp_path):
    shown = gotta("bench", "--dry-run", "--memory", "fps", cwd=tmp_path)
    assert "seed 1: 11 runs, 0 finished before" in shown
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_finished_and_the_same_command_continues(tmp_path):
    recipe = tmp_path / "r.yaml"
    recipe.write_text(
        "title: Interrupted\nbase: {stream: {per_class: 4, domains: [snow, fog, frost]}, memory: {capacity: 8}}\n"
        "seeds: [0, 1, 2, 3, 4, 5]\ncells: [{method: [norm], memory: [fifo, fps]}]"
    )
    command = [sys.executable, "-m", "gotta.cli", "bench", str(recipe), "--out", "out", "--jobs", "1"]
    process = subprocess.Popen(command, cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
    finished = tmp_path / "out" / "runs"
    while not (finished.is_dir() and any(not path.name.startswith(".") for path in finished.iterdir())):
        time.sleep(0.05)
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    shown, _ = process.communicate(timeout=60)
    assert process.returncode == 130, shown
    assert "continues where it was" in shown
    kept = int(re.search(r"(\d+) of 12 runs are finished", shown)[1])
    assert 1 <= kept < 12
    assert f"{kept} finished before" in gotta("bench", recipe, "--out", "out", cwd=tmp_path)


@pytest.mark.parametrize("command", [[sys.executable, "-m", "gotta.cli"], [Path(sys.executable).with_name("gotta")]])
def test_the_module_and_the_command_are_one(command):
    shown = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True).stdout
    assert re.match(r"gotta \d+\.\d+\.\d+", shown)


def test_a_mistake_ends_the_process_with_code_2_and_no_traceback(tmp_path):
    command = [sys.executable, "-m", "gotta.cli", "run", "method.name=tnt"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=ENVIRONMENT)
    assert done.returncode == 2
    assert done.stderr.startswith("gotta: method 'tnt' is unknown.")
    assert "Traceback" not in done.stderr


def test_help_does_not_wait_for_torch():
    code = "import sys; from gotta.cli.__main__ import app; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
