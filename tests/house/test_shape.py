"""The structure of the code: function sizes, names, imports and layers."""

import ast
import sys
from collections import Counter
from pathlib import Path

from tests.house.sources import (
    SOURCE,
    functions_in,
    imports_in,
    place,
    python_files,
    script_files,
    syntax_tree,
)
from tools.files import ROOT

LONGEST_FUNCTION = 60
VAGUE_FILES = {"utils", "util", "helpers", "helper", "common", "misc", "base", "manager"}
VAGUE_FILES |= {"operations"}
SUBJECTS = {
    "accounts",
    "access",
    "content",
    "drafts",
    "installation",
    "moderation",
    "posts",
    "publication",
    "site",
}
MOST_MODULES = 18
MOST_OF_A_NAME = 3
VAGUE_VERBS = ("get_", "do_", "handle_", "process_", "manage_")
FRAMEWORK_NAMES = {"get_code", "get_command"}  # methods that the importer and click call
CLIENT = SOURCE / "client"  # its methods are named after the operations of the interface
NOUNS_IN_ING = {"routing"}
MIRRORED = (
    "adapters",
    "auth",
    "bootstrap",
    "cli",
    "client",
    "devchain",
    "domain",
    "interface",
    "server",
    "services",
    "settings",
)


def test_no_function_is_too_long():
    long = {
        f"{place(path)}:{node.name}": lines
        for path in python_files("src", "tools")
        for node in functions_in(path)
        if (lines := (node.end_lineno or 0) - node.lineno + 1) > LONGEST_FUNCTION
    }
    assert long == {}


def test_no_file_has_a_vague_name():
    vague = [
        place(path)
        for path in [*python_files("src", "tests", "tools"), *script_files()]
        if path.stem in VAGUE_FILES
    ]
    assert vague == []


def test_no_folder_has_too_many_modules():
    modules = [path for path in python_files("src") if path.stem != "__init__"]
    scripts = [path for path in script_files() if path.suffix in (".ts", ".tsx")]
    modules += [path for path in scripts if not path.stem.endswith(".test")]
    folders = Counter(path.parent for path in modules)
    full = {place(folder): count for folder, count in folders.items() if count > MOST_MODULES}
    assert full == {}


def test_no_module_name_is_used_in_too_many_folders():
    names = Counter(path.stem for path in python_files("src") if path.stem != "__init__")
    repeated = {name: count for name, count in names.items() if count > MOST_OF_A_NAME}
    assert set(repeated) <= SUBJECTS, repeated


def test_no_module_name_is_a_gerund():
    scripts = [path for path in script_files() if path.suffix != ".css"]
    gerunds = [
        place(path)
        for path in [*python_files("src"), *scripts]
        for name in (path.name.split(".")[0], path.parent.name)
        if name.endswith("ing") and name not in NOUNS_IN_ING
    ]
    assert gerunds == []


def test_every_test_module_is_named_after_a_source_module():
    strays = [
        place(path)
        for path in python_files(*(f"tests/{room}" for room in MIRRORED))
        if path.stem.startswith("test_") and not _tested_modules(path)
    ]
    assert strays == []


def _tested_modules(path: Path) -> list[str]:
    """The modules that `test_<module>.py` or `test_<module>_<aspect>.py` may be named after."""
    folder = SOURCE / path.parent.relative_to(ROOT / "tests")
    modules = {each.stem for each in folder.glob("*.py")} - {"__init__"} | {folder.name}
    return [each for each in modules if f"{path.stem}_".startswith(f"test_{each}_")]


def test_no_function_name_begins_with_a_vague_verb():
    vague = [
        f"{place(path)}:{node.name}"
        for path in python_files("src", "tools")
        if path.parent != CLIENT
        for node in functions_in(path)
        if node.name.lstrip("_").startswith(VAGUE_VERBS) and node.name not in FRAMEWORK_NAMES
    ]
    assert vague == []


def test_only_bootstrap_imports_modules_inside_functions():
    inside = [
        f"{place(path)}:{node.name}"
        for path in python_files("src", "tools")
        if not path.is_relative_to(SOURCE / "bootstrap")
        for node in functions_in(path)
        if any(isinstance(each, ast.Import | ast.ImportFrom) for each in ast.walk(node))
    ]
    assert inside == []


def test_every_module_starts_with_a_one_sentence_docstring():
    silent = []
    for path in python_files("src", "tools"):
        sentence = (ast.get_docstring(syntax_tree(path)) or "").splitlines()[:1]
        if not sentence or not sentence[0].endswith((".", ":")):
            silent.append(place(path))
    assert silent == []


def test_every_script_starts_with_a_comment():
    silent = [
        place(path)
        for path in script_files()
        if ".test." not in path.name
        and not path.read_text(encoding="utf-8").startswith(("//", "/*", "#!"))
    ]
    assert silent == []


def test_every_dataclass_has_slots():
    bare = [
        f"{place(path)}:{node.name}"
        for path in python_files("src")
        for node in ast.walk(syntax_tree(path))
        if isinstance(node, ast.ClassDef)
        for decorator in node.decorator_list
        if ast.unparse(decorator).startswith("dataclass")
        and "slots=True" not in ast.unparse(decorator)
    ]
    assert bare == []


def test_the_domain_imports_only_the_standard_library_and_three_packages():
    allowed = set(sys.stdlib_module_names) | {"imprint"}
    foreign = {
        (place(path), name.split(".")[0])
        for path in python_files("src/imprint/domain")
        for name in imports_in(syntax_tree(path))
        if name.split(".")[0] not in allowed
    }
    assert foreign == {
        ("src/imprint/domain/formats/addresses.py", "tiny_keccak"),
        ("src/imprint/domain/formats/cids.py", "libipld"),
        ("src/imprint/domain/posts/openings.py", "markdown_it"),
    }


def test_only_bootstrap_imports_concrete_adapters():
    allowed = (SOURCE / "adapters", SOURCE / "bootstrap")
    others = [
        place(path)
        for path in python_files("src")
        if not any(path.is_relative_to(each) for each in allowed)
        and any(name.startswith("imprint.adapters") for name in imports_in(syntax_tree(path)))
    ]
    assert others == []


def test_only_bootstrap_and_commands_configure_logging():
    allowed = (SOURCE / "bootstrap", SOURCE / "cli")
    others = [
        place(path)
        for path in python_files("src")
        if not any(path.is_relative_to(each) for each in allowed)
        and "configure_logging" in path.read_text("utf-8")
    ]
    assert others == ["src/imprint/logs.py"]
