"""The shape of the code: small files, small functions, telling names, imports at the top."""

import ast
import sys

from tests.house.sources import SOURCE, functions_in, imports_in, place, python_files, syntax_tree

LONGEST_FILE = 500
LONGEST_FUNCTION = 60
VAGUE_FILES = {"utils", "util", "helpers", "helper", "common", "misc", "base", "manager"}
VAGUE_VERBS = ("get_", "do_", "handle_", "process_", "manage_")
FRAMEWORK_NAMES = {"get_command"}  # click asks a group for its commands by this name


def test_no_file_is_longer_than_its_ceiling():
    long = {
        place(path): lines
        for path in python_files("src", "tools")
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > LONGEST_FILE
    }
    assert long == {}


def test_no_function_is_longer_than_its_ceiling():
    long = {
        f"{place(path)}:{node.name}": lines
        for path in python_files("src", "tools")
        for node in functions_in(path)
        if (lines := (node.end_lineno or 0) - node.lineno + 1) > LONGEST_FUNCTION
    }
    assert long == {}


def test_no_file_has_a_name_that_says_nothing():
    vague = [
        place(path) for path in python_files("src", "tests", "tools") if path.stem in VAGUE_FILES
    ]
    assert vague == []


def test_no_function_begins_with_a_verb_that_says_nothing():
    vague = [
        f"{place(path)}:{node.name}"
        for path in python_files("src", "tools")
        for node in functions_in(path)
        if node.name.lstrip("_").startswith(VAGUE_VERBS) and node.name not in FRAMEWORK_NAMES
    ]
    assert vague == []


def test_nothing_is_imported_inside_a_function():
    inside = [
        f"{place(path)}:{node.name}"
        for path in python_files("src", "tools")
        for node in functions_in(path)
        if any(isinstance(each, ast.Import | ast.ImportFrom) for each in ast.walk(node))
    ]
    assert inside == []


def test_every_module_opens_with_one_sentence():
    silent = []
    for path in python_files("src", "tools"):
        sentence = (ast.get_docstring(syntax_tree(path)) or "").splitlines()[:1]
        if not sentence or not sentence[0].endswith((".", ":")):
            silent.append(place(path))
    assert silent == []


def test_values_are_frozen_and_slotted_or_openly_mutable():
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


def test_the_domain_imports_the_standard_library_and_one_hash():
    allowed = set(sys.stdlib_module_names) | {"imprint"}
    foreign = {
        (place(path), name)
        for path in python_files("src/imprint/domain")
        for name in imports_in(syntax_tree(path))
        if name.split(".")[0] not in allowed
    }
    assert foreign == {("src/imprint/domain/addresses.py", "Crypto.Hash")}


def test_only_the_wiring_knows_concrete_adapters():
    wiring = (SOURCE / "adapters", SOURCE / "bootstrap", SOURCE / "bootstrap.py")
    knowing = [
        place(path)
        for path in python_files("src")
        if not any(path.is_relative_to(each) for each in wiring)
        and any(name.startswith("imprint.adapters") for name in imports_in(syntax_tree(path)))
    ]
    assert knowing == []


def test_only_the_wiring_and_the_commands_set_logging_up():
    above = (SOURCE / "bootstrap", SOURCE / "bootstrap.py", SOURCE / "cli", SOURCE / "cli.py")
    others = [
        place(path)
        for path in python_files("src")
        if not any(path.is_relative_to(each) for each in above)
        and "imprint.logs" in imports_in(syntax_tree(path))
    ]
    assert others == []
