"""Parses strace output: calls that changed the disk or sent a response, by time of return."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TRACED = "fsync,fdatasync,rename,renameat,renameat2,write,writev,sendto,sendmsg,pwrite64"
_BEGUN = re.compile(r"^(\d+) +(\w+)\((.*) <unfinished \.\.\.>$")
_RESUMED = re.compile(r"^(\d+) +<\.\.\. (\w+) resumed>(.*) = (-?\d+).*$")
_WHOLE = re.compile(r"^(\d+) +(\w+)\((.*) = (-?\d+).*$")


@dataclass(frozen=True, slots=True)
class Call:
    """A system call at the time it returned, with file descriptors resolved to paths."""

    name: str
    arguments: str
    result: int

    @property
    def synced(self) -> str:
        """The path that this call made durable, if any."""
        found = re.match(r"\d+<(.*?)>", self.arguments)
        durable = self.name in ("fsync", "fdatasync") and self.result == 0
        return found[1] if durable and found else ""

    @property
    def renamed(self) -> tuple[str, str] | None:
        """The source and target paths if this call renamed a file."""
        if not self.name.startswith("rename") or self.result != 0:
            return None
        source, target = re.findall(r'"(.*?)"', self.arguments)[:2]
        return source, target

    @property
    def responds(self) -> bool:
        """Whether this call sent the start of a response to a client."""
        to_somebody = re.match(r"\d+<(socket|TCP)", self.arguments) is not None
        return to_somebody and '"HTTP/1.1 200' in self.arguments


def read_trace(path: Path) -> Iterator[Call]:
    """Return calls ordered by time of return. A response counts from its start, to be strict."""
    begun: dict[str, str] = {}
    for line in path.read_text("utf-8", "replace").splitlines():
        if found := _BEGUN.match(line):
            pid, name, arguments = found.groups()
            begun[pid] = arguments
            call = Call(name, arguments, 0)
            if call.responds:
                yield call
        elif found := _RESUMED.match(line):
            pid, name, rest, result = found.groups()
            call = Call(name, begun.pop(pid, "") + rest, int(result))
            if not call.responds:
                yield call
        elif found := _WHOLE.match(line):
            _, name, arguments, result = found.groups()
            yield Call(name, arguments, int(result))
