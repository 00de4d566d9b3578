"""A front-end project with a running service's API description and the code generated from it."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.processes import Service, free_port, running

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CLIENTS = ROOT / "docs" / "clients.md"
"""The page that documents the commands for front ends."""

DOCUMENTED = "http://127.0.0.1:8000"
"""The service address in the documented commands."""


@dataclass(frozen=True, slots=True)
class Project:
    """A folder with the generators installed and the walk scripts copied into it."""

    folder: Path
    service: Service

    def run(self, *command: str) -> str:
        """Run a command and return its output. Fails with that output if the command fails."""
        paths = [str(self.folder / "node_modules" / ".bin"), str(HERE / ".venv" / "bin")]
        environ = {
            **os.environ,
            "PATH": os.pathsep.join([*paths, os.environ["PATH"]]),
            "NO_COLOR": "1",
            "REDOCLY_TELEMETRY": "off",
            "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true",
        }
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=environ,
            timeout=300,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            said = f"{command} ended with {done.returncode}:\n{done.stdout}"
            pytest.fail(f"{said}\n\nThe service said:\n{self.service.tail()}", pytrace=False)
        return done.stdout

    def generate(self, heading: str) -> None:
        """Run the commands under this heading of `clients.md`, unchanged."""
        for command in documented_commands(heading):
            self.run("bash", "-euc", command.replace(DOCUMENTED, self.service.url))

    def walk(self, *command: str) -> None:
        """Run a walk script, from creating a draft to reading the post."""
        cover = str(ROOT / "examples" / "viem" / "cover.png")
        assert self.run(*command, self.service.url, cover).endswith("The walk is complete.\n")


def documented_commands(heading: str) -> list[str]:
    """The shell commands under a heading of `clients.md`."""
    page = CLIENTS.read_text(encoding="utf-8")
    section = page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    commands = re.findall(r"^```sh\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    assert commands, f"docs/clients.md has no commands under '{heading}'"
    return commands


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    given = {"DEV_RPC_PORT": str(free_port()), "CHAIN_FOLLOW_SECONDS": "0"}
    with running(Service(tmp_path_factory.mktemp("dev"), given, "dev")) as opened:
        yield opened


@pytest.fixture(scope="session")
def project(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The project, including the API description."""
    folder = tmp_path_factory.mktemp("project")
    for source in [*(HERE / "walks").iterdir(), HERE / "package.json", HERE / "tsconfig.json"]:
        if source.is_file():
            shutil.copy(source, folder)
    (folder / "node_modules").symlink_to(HERE / "node_modules")
    opened = Project(folder, service)
    opened.generate("The description")
    return opened
