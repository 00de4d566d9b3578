"""The package as an operator installs it: a separate environment, and its `imprint` command."""

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.processes import Process, free_port
from tools.runtime_lock import Environment, render_requirements, runtime_entries

PYTHON = os.environ.get("WHEEL_PYTHON") or sys.executable
"""The Python with which environments are created."""

UV = Path(sys.executable).parent / "uv"

SECRET = secrets.token_hex(32)

MARKERS = """
import json, os, platform, sys
version = ".".join(map(str, sys.version_info[:2]))
print(json.dumps({
    "implementation_name": sys.implementation.name,
    "implementation_version": platform.python_version(),
    "os_name": os.name,
    "platform_machine": platform.machine(),
    "platform_python_implementation": platform.python_implementation(),
    "platform_release": platform.release(),
    "platform_system": platform.system(),
    "platform_version": platform.version(),
    "python_full_version": platform.python_version(),
    "python_version": version,
    "sys_platform": sys.platform,
}))
"""
"""Program that prints a Python's environment markers without any library."""

LISTED = """
import json
from importlib.metadata import distributions
print(json.dumps({each.metadata["Name"].lower().replace("_", "-"): each.version
                  for each in distributions()}))
"""
"""Program that prints the packages that a Python finds, with their versions."""


def plain_environ(given: Mapping[str, str] | None = None) -> dict[str, str]:
    """The current environment variables without this project's own, plus these settings."""
    ours = ("IMPRINT_", "PYTHON", "VIRTUAL_ENV", "WHEEL_", "COLUMNS", "_IMPRINT")
    kept = {name: text for name, text in os.environ.items() if not name.startswith(ours)}
    return {**kept, **(given or {})}


def run_python(python: str | Path, code: str) -> str:
    """Run code in another Python, isolated from this one, and return its output."""
    command = [str(python), "-I", "-c", code]
    done = subprocess.run(command, env=plain_environ(), capture_output=True, text=True, check=True)
    return done.stdout


def markers_of(python: str | Path) -> Environment:
    """The environment markers of a Python interpreter."""
    markers: dict[str, str] = json.loads(run_python(python, MARKERS))
    return markers


@dataclass(frozen=True, slots=True)
class Installed:
    """An environment that contains only the package and some of its extras."""

    folder: Path
    extras: tuple[str, ...] = ()

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def command(self) -> Path:
        return self.folder / "bin" / "imprint"

    def install(self, wheel: Path) -> None:
        """Create the environment with the wheel and the locked packages of its extras."""
        _run([PYTHON, "-m", "venv", "--without-pip", str(self.folder)])
        needed = self.folder / "requirements.txt"
        entries = runtime_entries(self.extras, [markers_of(PYTHON)])
        needed.write_text(render_requirements(entries), "utf-8")
        locked = ["--require-hashes", "--no-deps", "--only-binary", ":all:", "-r", str(needed)]
        self._fetch(locked)
        self._fetch(["--no-deps", "--no-index", str(wheel)])

    def _fetch(self, wanted: list[str]) -> None:
        """Install packages with uv, or with pip if uv cannot reach an index."""
        quiet = ["install", "--quiet"]
        try:
            _run([str(UV), "pip", *quiet, "--python", str(self.python), *wanted])
        except (OSError, subprocess.CalledProcessError):
            pip = [sys.executable, "-m", "pip", "--python", str(self.python)]
            _run([*pip, *quiet, "--disable-pip-version-check", *wanted])

    def packages(self) -> dict[str, str]:
        """The packages in the environment, with their versions."""
        found: dict[str, str] = json.loads(run_python(self.python, LISTED))
        return found

    def run(
        self,
        *arguments: str | Path,
        settings: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> "subprocess.CompletedProcess[str]":
        """Run the installed command with only these settings, and capture its output."""
        return subprocess.run(
            [str(self.command), *map(str, arguments)],
            env=plain_environ(settings),
            cwd=cwd or self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )


def _run(command: Iterable[str]) -> None:
    subprocess.run(list(command), env=plain_environ(), check=True, capture_output=True, timeout=300)


@dataclass(slots=True)
class Installation:
    """The settings of a service without a node, and ways to run it."""

    installed: Installed
    folder: Path
    given: Mapping[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)

    @property
    def settings(self) -> dict[str, str]:
        return {
            "IMPRINT_PORT": str(self.port),
            "IMPRINT_DATA_DIR": str(self.folder / "data"),
            "IMPRINT_PUBLIC_URL": "https://imprint.test",
            "IMPRINT_CHAIN_RPC_URL": "http://127.0.0.1:1",
            "IMPRINT_CHAIN_ID": "31337",
            "IMPRINT_MARKETPLACE_ADDRESS": "0x5fbdb2315678afecb367f032d93f642f64180aa3",
            "IMPRINT_JWT_SECRET": SECRET,
            **self.given,
        }

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def run(self, *arguments: str | Path) -> "subprocess.CompletedProcess[str]":
        """Run a command of the package with this installation's settings."""
        return self.installed.run(*arguments, settings=self.settings, cwd=self.folder)

    def serve(self, command: str = "serve") -> Process:
        """The process of the service, which is not started yet."""
        log = self.folder / f"{command}.log"
        return Process([str(self.installed.command), command], log, self.settings)
