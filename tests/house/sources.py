"""The files of the project and their syntax trees."""

import ast
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from pathlib import Path

from tools.files import ROOT, files_matching

SOURCE = ROOT / "src" / "imprint"

CREATED = {".venv", "node_modules", "__pycache__", "data", "build", "dist"} | {
    f".{tool}_cache" for tool in ("mypy", "pytest", "ruff", "import_linter")
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def kept_files() -> tuple[Path, ...]:
    """Every file of the project: tracked by git, or untracked and not ignored.

    Outside a git repository: every file except those that make targets create.
    """
    if not (ROOT / ".git").exists():
        found = (path for path in ROOT.rglob("*") if path.is_file())
        return tuple(p for p in found if not CREATED.intersection(p.relative_to(ROOT).parts))
    return tuple(files_matching(["**"]))


def python_files(*folders: str) -> list[Path]:
    """The Python files below these folders of the project."""
    return _files_below(folders, (".py",))


def script_files() -> list[Path]:
    """The scripts and style sheets of the site's pages, and the client that they use."""
    return _files_below(("site", "clients"), (".ts", ".tsx", ".mjs", ".css"))


def _files_below(folders: Iterable[str], endings: Collection[str]) -> list[Path]:
    roots = [ROOT / folder for folder in folders]
    return [
        path
        for path in kept_files()
        if path.suffix in endings and any(path.is_relative_to(root) for root in roots)
    ]


@cache
def syntax_tree(path: Path) -> ast.Module:
    """Parse a Python file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def functions_in(path: Path) -> Iterator[Function]:
    """Every function in a file, including nested ones."""
    for node in ast.walk(syntax_tree(path)):
        if isinstance(node, Function):
            yield node


def imports_in(tree: ast.AST) -> Iterator[str]:
    """The names of the modules that a tree imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def place(path: Path) -> str:
    """The path relative to the project root."""
    return path.relative_to(ROOT).as_posix()
