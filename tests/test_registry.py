"""Names for things: found, guessed, matched, imported, and refused."""

import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

import gotta.registry
from gotta.errors import GottaError
from gotta.registry import Registry


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An empty package on the path, for modules written by a test."""
    root = tmp_path / "toolbox"
    root.mkdir()
    (root / "__init__.py").write_text(
        "from gotta.registry import Registry, has_method\n"
        "tools = Registry('tool', 'toolbox', has_method('use', 'wood'), 'a class with use(self, wood)')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield root
    for name in [name for name in sys.modules if name.split(".")[0] == "toolbox"]:
        del sys.modules[name]


def add(
    package, module, name, body="def __init__(self, length=1, *, width=2): self.length, self.width = length, width"
):
    (package / f"{module}.py").write_text(
        f"from toolbox import tools\n\n@tools.register('{name}')\nclass Tool:\n    '''A tool.'''\n    {body}\n"
    )


def tools():
    import toolbox

    return toolbox.tools


def test_file_dropped_into_the_package_is_found(package):
    add(package, "saw", "saw")
    add(package, "awl", "awl")
    assert tools().names() == ["awl", "saw"]
    assert tools().get("saw").__module__ == "toolbox.saw"


def test_modules_are_imported_at_the_first_look_up_only(package):
    add(package, "saw", "saw")
    registry = tools()
    assert "toolbox.saw" not in sys.modules
    registry.get("saw")
    assert "toolbox.saw" in sys.modules


def test_unknown_name(package):
    add(package, "hammer", "hammer")
    add(package, "saw", "saw")
    with pytest.raises(GottaError, match=r"^tool 'hamer' is unknown. Did you mean 'hammer'\? Known: hammer, saw\.$"):
        tools().get("hamer")


def test_name_registered_twice(package):
    add(package, "saw", "saw")
    add(package, "saw_too", "saw")
    with pytest.raises(GottaError, match="tool 'saw' is registered twice"):
        tools().names()


def test_same_thing_registered_again_is_fine():
    registry = Registry("tool", "gotta.models")
    item = object()
    assert registry.register("a")(item) is item
    assert registry.register("a")(item) is item


def test_wildcards_in_the_order_of_the_patterns(package):
    for name in ("fifo", "fps", "fpsd", "none"):
        add(package, name, name)
    registry = tools()
    assert registry.match("*") == ["fifo", "fps", "fpsd", "none"]
    assert registry.match("none, fps*,fifo") == ["none", "fps", "fpsd", "fifo"]
    assert registry.match("fps,fp*") == ["fps", "fpsd"]
    with pytest.raises(GottaError, match="tool 'cds' is unknown"):
        registry.match("fifo,cds")
    with pytest.raises(GottaError, match=r"tool 'x\*' is unknown"):
        registry.match("x*")


def test_build_checks_argument_names(package):
    add(package, "saw", "saw")
    built = tools().build("saw", length=5, width=7)
    assert (built.length, built.width) == (5, 7)
    with pytest.raises(GottaError, match=r"argument of tool 'saw' 'lenght' is unknown. Did you mean 'length'\? Known"):
        tools().build("saw", lenght=5)


def test_any_argument_goes_where_the_signature_takes_any(package):
    add(package, "saw", "saw", "def __init__(self, **rest): self.rest = rest")
    assert tools().build("saw", anything=1).rest == {"anything": 1}


@pytest.fixture
def mine(tmp_path):
    """A module that leaves a mark when it is imported, and another when anything in it is called."""
    (tmp_path / "mine.py").write_text(
        "import pathlib\nFOLDER = pathlib.Path(__file__).parent\n(FOLDER / 'imported').touch()\n"
        "class Plane:\n    def __init__(self, angle=1): self.angle = angle\n    def use(self, wood): pass\n"
        "class Bomb:\n    def __init__(self, *a, **k): (FOLDER / 'called').touch()\n    def use(self): pass\n"
        "def make(*a, **k): (FOLDER / 'called').touch()\n"
        "plane = Plane()\n"
    )
    yield tmp_path
    sys.modules.pop("mine", None)


def test_class_of_ones_own_is_taken_from_the_caller(package, mine):
    known = tools()
    assert known.take("mine:Plane").__name__ == "Plane"
    assert known.build("mine:Plane", angle=3).angle == 3
    assert known.names() == []
    with pytest.raises(GottaError, match="'edge' is unknown"):
        known.build("mine:Plane", edge=3)


def test_nothing_is_imported_that_the_caller_did_not_give(package, mine):
    known = tools()
    for look in (known.get, known.build, lambda name: known.check_arguments(name, {})):
        with pytest.raises(GottaError, match="'mine:Plane' is code that is not registered, so it was not imported"):
            look("mine:Plane")
    assert known.match("mine:Plane") == ["mine:Plane"]
    assert known.is_user_part("mine:Plane")
    assert not known.is_permitted("mine:Plane")
    known.permit("mine:Plane")
    assert known.is_permitted("mine:Plane")
    assert not (mine / "imported").exists()
    assert known.get("mine:Plane")
    assert (mine / "imported").exists()


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("mine:Bomb", "a class of another kind"),
        ("mine:make", "a function"),
        ("mine:plane", "a Plane"),
        ("subprocess:Popen", "a class of another kind"),
        ("os:system", "a builtin_function_or_method"),
        ("builtins:exec", "a builtin_function_or_method"),
        ("sys:modules", "a dict"),
    ],
)
def test_what_is_not_of_the_kind_is_not_called(package, mine, name, what):
    with pytest.raises(GottaError, match=rf"tool '{name}' is {what} and was not called. Expected a class with use"):
        tools().take(name)
    assert not (mine / "called").exists()


def test_a_kind_without_classes_of_ones_own(package):
    with pytest.raises(GottaError, match="tool 'json:JSONDecoder' is unknown"):
        Registry("tool", "toolbox").take("json:JSONDecoder")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("nowhere:Thing", "ModuleNotFoundError: No module named 'nowhere'"),
        ("json:Nothing", "AttributeError: .*Nothing"),
        (":Thing", "ValueError"),
        ("broken:Thing", "SyntaxError: .*broken.py, line 1"),
        ("failing:Thing", "ZeroDivisionError"),
    ],
)
def test_class_that_cannot_be_imported(package, tmp_path, name, why):
    (tmp_path / "broken.py").write_text("class Thing(:\n")
    (tmp_path / "failing.py").write_text("1 / 0\n")
    with pytest.raises(GottaError, match=rf"tool '{name}' cannot be imported: {why}.*Expected module:Class"):
        tools().take(name)


def test_bad_module_in_the_package_is_not_forgotten(package):
    add(package, "a_saw", "saw")
    (package / "bad.py").write_text("import nowhere_to_be_found\n")
    add(package, "z_awl", "awl")
    for _ in range(2):  # a second look-up must not see half of the names
        with pytest.raises(ModuleNotFoundError, match="nowhere_to_be_found"):
            tools().names()
    (package / "bad.py").write_text("")
    assert tools().names() == ["awl", "saw"]


def test_plug_ins(package, monkeypatch):
    add(package, "saw", "saw")
    points = [EntryPoint("lathe", "math:gcd", "gotta_tta.tool"), EntryPoint("saw", "nowhere:Saw", "gotta_tta.tool")]
    monkeypatch.setattr(gotta.registry, "entry_points", lambda group: points if group == "gotta_tta.tool" else [])
    assert tools().names() == ["lathe", "saw"]
    assert tools().is_user_part("lathe")
    assert tools().get("lathe").__name__ == "gcd"
    assert tools().get("saw").__module__ == "toolbox.saw", "a plug-in does not replace what is built in"


def test_broken_plug_in_is_named(package, monkeypatch):
    points = [EntryPoint("lathe", "nowhere:Lathe", "gotta_tta.tool")]
    monkeypatch.setattr(gotta.registry, "entry_points", lambda group: points)
    assert tools().match("la*") == ["lathe"], "nothing is imported to find a name"
    with pytest.raises(GottaError, match=r"plug-in tool 'lathe' \(nowhere:Lathe\) cannot be imported"):
        tools().get("lathe")


def test_plug_in_of_another_kind_is_not_called(package, monkeypatch):
    points = [
        EntryPoint("lathe", "subprocess:Popen", "gotta_tta.tool"),
        EntryPoint("awl", "sys:modules", "gotta_tta.tool"),
    ]
    monkeypatch.setattr(gotta.registry, "entry_points", lambda group: points)
    for name in ("lathe", "awl"):
        with pytest.raises(GottaError, match=rf"plug-in tool '{name}' .* is of another kind and was not called"):
            tools().build(name)


def test_a_look_up_imports_the_file_of_that_name_alone(tmp_path):
    code = (
        "import sys; from gotta.memory import policies; policies.get('fps'); "
        "print(*[name for name in sys.modules if name.startswith('gotta.memory.builtin.')])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "gotta.memory.builtin.fps" in found.stdout.split()
    assert "gotta.memory.builtin.mcm" not in found.stdout.split()
