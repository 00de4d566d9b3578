"""Generates small faults in a module's code, one at a time, by changing its syntax tree.

Changes that no test could or should notice are left out: annotations, docstrings, sentences for
people, log lines, metrics, `__repr__`, and how classes are stored.
"""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}

OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}

OPPOSITES = {"min": "max", "max": "min", "any": "all", "all": "any"}

STORAGE = {"frozen", "slots", "kw_only", "gc", "init", "rename", "tag", "omit_defaults"}
"""Arguments that say how a class is stored or spelled."""

QUIET_NAMES = {"log", "logger", "warnings", "failpoints"}
QUIET_CALLS = {"inc", "dec", "observe", "labels"}
QUIET_FUNCTIONS = {"__repr__", "__str__"}
STRUCTURE = {
    "cache",
    "classmethod",
    "dataclass",
    "lru_cache",
    "override",
    "property",
    "staticmethod",
}
"""Decorators whose removal either breaks a module or does not change what it does."""

LABELLED = {"read_address", "read_hash", "read_seconds", "read_text"}
"""Functions whose first argument only names a member in the sentence of a refusal."""

SHOWN = 90
"""Maximum length of the code that names a fault."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fault in a file: `number` is its position in the order of generation.

    `name` says where it is and what changes, without a line number, so that it stays the same
    while other code changes. `line` is where it is now, `is_inside` whether a function contains
    it, `subject` the module's variable that it changes, `until` the last line of the definition
    that surrounds it.
    """

    path: str
    number: int
    name: str
    line: int
    is_inside: bool
    subject: str = ""
    until: int = 0

    @property
    def function(self) -> str:
        """The function or class that the fault is in."""
        return self.name.partition(":")[0]


@dataclass(slots=True)
class _Change:
    """A change of the tree that can be made and undone."""

    node: ast.AST
    shown: ast.AST
    make: Callable[[], None]
    undo: Callable[[], None]


def generate(path: str, source: str) -> list[Mutant]:
    """Return all faults for this source, in the order of the code."""
    tree = ast.parse(source)
    mutants: list[Mutant] = []
    seen: dict[str, int] = {}
    ends = _ends(tree, "")
    for number, (change, where, subject) in enumerate(_changes(tree)):
        before = _text(change.shown)
        change.make()
        after = _text(change.shown)
        change.undo()
        name = f"{where or 'module'}: {before} → {after}"
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1:
            name += f" ({seen[name]})"
        line = getattr(change.node, "lineno", 1)
        is_inside, until = getattr(change.node, "_inside", False), ends.get(where, line)
        mutants.append(Mutant(path, number, name, line, is_inside, subject, until))
    return mutants


def compile_mutant(mutant: Mutant, source: str, file: str) -> CodeType:
    """Compile the source with this fault. Lines keep their numbers."""
    tree = ast.parse(source)
    for number, (change, _, _) in enumerate(_changes(tree)):
        if number == mutant.number:
            change.make()
            ast.fix_missing_locations(tree)
            return compile(tree, file, "exec", dont_inherit=True)
    raise ValueError(f"{mutant.path} has no fault number {mutant.number}")


def _text(node: ast.AST) -> str:
    text = " ".join(ast.unparse(ast.fix_missing_locations(node)).split())
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


def _ends(owner: ast.AST, where: str) -> dict[str, int]:
    """Return the last line of every definition, by its name."""
    found: dict[str, int] = {}
    for node in ast.iter_child_nodes(owner):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{where}.{node.name}" if where else node.name
            found |= {name: node.end_lineno or 0} | _ends(node, name)
    return found


def _changes(tree: ast.Module) -> Iterator[tuple[_Change, str, str]]:
    """Return every change with the function or class and the variable that it belongs to."""
    yield from _Walk().of_body(tree, "", inside=False)


class _Walk:
    """Visits a tree in the order of the code, and knows what surrounds each node."""

    def of_body(
        self, owner: ast.AST, where: str, *, inside: bool
    ) -> Iterator[tuple[_Change, str, str]]:
        for name in ("body", "orelse", "finalbody"):
            body = getattr(owner, name, [])
            for index, statement in enumerate(body):
                yield from self._of_statement(body, index, statement, where, inside=inside)

    def _of_statement(
        self, body: list[ast.stmt], index: int, node: ast.stmt, where: str, *, inside: bool
    ) -> Iterator[tuple[_Change, str, str]]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from self._of_definition(node, where, inside=inside)
            return
        if _is_quiet(node):
            return
        subject = "" if inside else _assigned(node)
        _mark(node, inside=inside)
        if _can_go(node):
            yield _removal(body, index, node), where, subject
        for change in _of_header(node):
            _mark(change.node, inside=inside)
            yield change, where, subject
        if isinstance(node, ast.Try | ast.TryStar):
            yield from self._of_parts(node, ("body",), where, inside=inside)
            for handler in node.handlers:
                yield from self.of_body(handler, where, inside=inside)
            yield from self._of_parts(node, ("orelse", "finalbody"), where, inside=inside)
        elif isinstance(node, ast.Match):
            for case in node.cases:
                yield from self.of_body(case, where, inside=inside)
        elif not isinstance(node, ast.Expr):
            yield from self.of_body(node, where, inside=inside)

    def _of_parts(
        self, owner: ast.AST, names: tuple[str, ...], where: str, *, inside: bool
    ) -> Iterator[tuple[_Change, str, str]]:
        for name in names:
            body = getattr(owner, name)
            for index, statement in enumerate(body):
                yield from self._of_statement(body, index, statement, where, inside=inside)

    def _of_definition(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef,
        where: str,
        *,
        inside: bool,
    ) -> Iterator[tuple[_Change, str, str]]:
        name = f"{where}.{node.name}" if where else node.name
        if node.name in QUIET_FUNCTIONS or any(_name_of(b) == "Protocol" for b in _bases(node)):
            return
        for index, decorator in enumerate(node.decorator_list):
            if _name_of(decorator) not in STRUCTURE:
                _mark(decorator, inside=inside)
                yield _without_decorator(node, index, decorator), name, ""
        if isinstance(node, ast.ClassDef):
            for keyword in node.keywords:
                yield from ((each, name, "") for each in _of_expression(keyword, node))
            yield from self.of_body(node, name, inside=inside)
            return
        for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
            for change in _of_expression(default, node.args):
                _mark(change.node, inside=inside)
                yield change, name, ""
        yield from self.of_body(node, name, inside=True)


def _bases(node: ast.AST) -> list[ast.expr]:
    return node.bases if isinstance(node, ast.ClassDef) else []


def _mark(node: ast.AST, *, inside: bool) -> None:
    node._inside = inside  # type: ignore[attr-defined]


def _name_of(node: ast.AST) -> str:
    """Return the last word of the function or class that an expression names."""
    while isinstance(node, ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _assigned(node: ast.stmt) -> str:
    target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
    return target.id if isinstance(target, ast.Name) else ""


def _is_quiet(node: ast.stmt) -> bool:
    """Whether the statement is a docstring, import, log line, metric or type."""
    if isinstance(node, ast.Import | ast.ImportFrom | ast.Assert):
        return True
    if isinstance(node, ast.Expr):
        value = node.value
        return isinstance(value, ast.Constant) or (
            isinstance(value, ast.Call)
            and isinstance(value.func, ast.Attribute)
            and (_name_of(value.func.value) in QUIET_NAMES or value.func.attr in QUIET_CALLS)
        )
    is_type = isinstance(node, ast.If) and _name_of(node.test) == "TYPE_CHECKING"
    return is_type or _name_of(getattr(node, "value", node)) in {"TypeVar", "getLogger", "labels"}


def _can_go(node: ast.stmt) -> bool:
    """Whether the statement can be left out: a call, a refusal, or a change of an object."""
    if isinstance(node, ast.Raise | ast.Expr | ast.Delete):
        return True
    targets = node.targets if isinstance(node, ast.Assign) else []
    return any(isinstance(each, ast.Attribute | ast.Subscript) for each in targets)


def _removal(body: list[ast.stmt], index: int, node: ast.stmt) -> _Change:
    shown = ast.Module([node], [])

    def make() -> None:
        body[index] = shown.body[0] = ast.copy_location(ast.Pass(), node)

    def undo() -> None:
        body[index] = shown.body[0] = node

    return _Change(node, shown, make, undo)


def _without_decorator(node: ast.AST, index: int, decorator: ast.expr) -> _Change:
    decorators: list[ast.expr] = node.decorator_list  # type: ignore[attr-defined]
    shown = ast.Module([ast.Expr(decorator)], [])

    def make() -> None:
        del decorators[index]
        shown.body[0] = ast.Pass()

    def undo() -> None:
        decorators.insert(index, decorator)
        shown.body[0] = ast.Expr(decorator)

    return _Change(decorator, shown, make, undo)


def _set(owner: ast.AST, name: str, value: object, node: ast.AST, shown: ast.AST) -> _Change:
    """Return a change that gives a field of `owner` another value."""
    before = getattr(owner, name)
    return _Change(
        node, shown, lambda: setattr(owner, name, value), lambda: setattr(owner, name, before)
    )


def _of_header(node: ast.stmt) -> Iterator[_Change]:
    """Return the changes of a statement itself, without the statements in its body."""
    if isinstance(node, ast.If | ast.While):
        if isinstance(node, ast.If) and not _is_negated_anyway(node.test):
            yield _without_branch(node)
        yield from _of_expression(node.test, node)
        return
    if isinstance(node, ast.Return) and node.value is not None and not _is_false(node.value):
        yield _set(node, "value", ast.copy_location(ast.Constant(value=None), node), node, node)
    if isinstance(node, ast.AugAssign) and type(node.op) in OPERATORS:
        yield _set(node, "op", OPERATORS[type(node.op)](), node, node)
        return
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "body", "orelse", "finalbody", "handlers", "cases"}:
            continue
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, ast.withitem):
                yield from _of_expression(each.context_expr, each)
            elif isinstance(each, ast.expr):
                yield from _of_expression(each, node)


def _is_negated_anyway(test: ast.expr) -> bool:
    """Whether a change of the condition's operator already negates the condition."""
    if isinstance(test, ast.Compare):
        return not isinstance(test.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE)
    return isinstance(test, ast.UnaryOp)


def _without_branch(node: ast.If) -> _Change:
    test, never = node.test, ast.copy_location(ast.Constant(value=False), node.test)
    shown = ast.If(test, [ast.Pass()], [])

    def make() -> None:
        node.test = shown.test = never

    def undo() -> None:
        node.test = shown.test = test

    return _Change(node, shown, make, undo)


def _is_false(node: ast.expr) -> bool:
    """Whether the expression is None or False, which callers do not tell apart."""
    return isinstance(node, ast.Constant) and (node.value is None or node.value is False)


def _of_expression(node: ast.AST, parent: ast.AST) -> Iterator[_Change]:
    """Return the changes of an expression and of everything in it."""
    if isinstance(node, ast.keyword) and node.arg in STORAGE:
        return
    if isinstance(node, ast.Subscript) and _name_of(node) == "Annotated":
        return
    if isinstance(node, ast.Constant):
        yield from _of_constant(node, parent)
    elif isinstance(node, ast.comprehension):
        yield from _of_conditions(node)
    else:
        yield from _of_operation(node)
    for name, value in ast.iter_fields(node):
        if name == "annotation" or isinstance(node, ast.JoinedStr):
            continue
        is_labelled = name == "args" and _name_of(node) in LABELLED
        for each in value[is_labelled:] if isinstance(value, list) else [value]:
            if isinstance(each, ast.expr | ast.keyword | ast.comprehension):
                yield from _of_expression(each, node)
    if isinstance(node, ast.JoinedStr):
        # The texts around the values are sentences for people.
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                yield from _of_expression(part.value, part)


def _of_operation(node: ast.AST) -> Iterator[_Change]:
    if isinstance(node, ast.Compare):
        for index, operator in enumerate(node.ops):
            ops = list(node.ops)
            ops[index] = COMPARISONS[type(operator)]()
            yield _set(node, "ops", ops, node, node)
    elif isinstance(node, ast.BoolOp):
        for index, operand in enumerate(node.values):
            if _is_false(operand):
                continue
            values = list(node.values)
            is_and = isinstance(node.op, ast.And)
            values[index] = ast.copy_location(ast.Constant(value=is_and), operand)
            yield _set(node, "values", values, node, node)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        twice = ast.copy_location(ast.UnaryOp(ast.Not(), node.operand), node.operand)
        yield _set(node, "operand", twice, node, node)
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS and not _is_text(node):
        yield _set(node, "op", OPERATORS[type(node.op)](), node, node)
    elif isinstance(node, ast.IfExp):
        never = ast.copy_location(ast.Constant(value=False), node.test)
        yield _set(node, "test", never, node, node)
    elif isinstance(node, ast.Name) and node.id in OPPOSITES:
        yield _set(node, "id", OPPOSITES[node.id], node, node)


def _of_conditions(node: ast.comprehension) -> Iterator[_Change]:
    for index, test in enumerate(node.ifs):
        tests = list(node.ifs)
        tests[index] = ast.copy_location(ast.Constant(value=True), test)
        yield _set(node, "ifs", tests, test, node)


def _is_text(node: ast.BinOp) -> bool:
    """Whether the operation concatenates or formats texts, or names a type."""
    return any(
        isinstance(each, ast.JoinedStr)
        or (isinstance(each, ast.Constant) and not isinstance(each.value, int | float))
        for each in (node.left, node.right)
    )


def _of_constant(node: ast.Constant, parent: ast.AST) -> Iterator[_Change]:
    value = node.value
    changed: object
    if isinstance(value, bool):
        changed = not value
    elif isinstance(value, int | float):
        changed = value + 1
    elif isinstance(value, str) and value and " " not in value:
        changed = f"{value}x"
    elif isinstance(value, bytes) and value:
        changed = value + b"x"
    else:
        return
    shown = parent if isinstance(parent, ast.expr | ast.keyword | ast.stmt) else node
    yield _set(node, "value", changed, node, shown if _is_short(shown) else node)


def _is_short(node: ast.AST) -> bool:
    return not hasattr(node, "body") and len(ast.unparse(node)) <= SHOWN
