"""The installed service can be started, used, backed up and moved, with each database."""

import asyncio
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.postgresql import Server
from tests.processes import PLAIN, Process, free_port
from tests.wheel.installed import Installation, Installed, markers_of, plain_environ
from tools.files import ROOT

EXAMPLE = ROOT / "examples" / "publish_a_post.py"


def fetch(url: str) -> httpx2.Response:
    return httpx2.get(url, timeout=10, verify=PLAIN)


def is_up(url: str) -> bool:
    try:
        return fetch(f"{url}/healthz").status_code == 200
    except httpx2.TransportError:
        return False


def start(installation: Installation, command: str = "serve") -> Process:
    process = installation.serve(command)
    process.start(lambda: is_up(installation.url))
    return process


def result_of(done: "subprocess.CompletedProcess[str]", status: int = 0) -> Any:
    """Return the JSON object that a command printed. Fails if it printed anything else."""
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def here(bare: Installed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """A running service with its records in SQLite."""
    installation = Installation(bare, tmp_path_factory.mktemp("here"))
    process = start(installation)
    try:
        yield installation
        assert process.stop() == 0, process.tail()
    finally:
        process.kill()


def test_the_service_responds(here: Installation):
    assert fetch(f"{here.url}/filesMetaData").status_code == 200
    assert fetch(f"{here.url}/.well-known/imprint.json").json()["signing"]["chainId"] == 31337
    assert fetch(f"{here.url}/openapi.json").json()["openapi"].startswith("3.")


def test_the_style_sheet_of_the_docs_page_is_served(here: Installation):
    (style,) = re.findall(r'<link rel="stylesheet" href="([^"]+)">', fetch(f"{here.url}/docs").text)
    assert fetch(f"{here.url}{style}").status_code == 200


def test_a_backup_can_be_restored_and_served(here: Installation, tmp_path: Path):
    saved = result_of(here.run("backup", "--out", tmp_path / "saved.tar", "--json"))
    assert saved["documents"]["private"] == 0
    again = here.run("backup", "--out", tmp_path / "saved.tar")
    assert again.returncode == 2
    assert not again.stderr.startswith("Imprint cannot start")
    folder = tmp_path / "restored"
    folder.mkdir()
    there = Installation(here.installed, folder)
    restored = there.run("restore", tmp_path / "saved.tar", "--to", folder / "data")
    assert restored.returncode == 0, restored.stderr
    process = start(there)
    try:
        assert fetch(f"{there.url}/filesMetaData").status_code == 200
        assert process.stop(how=signal.SIGINT) == 0
    finally:
        process.kill()


def test_an_export_can_be_verified_and_imported(here: Installation, tmp_path: Path):
    out = tmp_path / "all.car"
    assert here.run("export", "--out", out).returncode == 0
    assert result_of(here.run("verify", out, "--json"))["files"] == 0
    damaged = bytearray(out.read_bytes())
    damaged[-1] ^= 1
    (tmp_path / "damaged.car").write_bytes(damaged)
    assert result_of(here.run("verify", tmp_path / "damaged.car", "--json"), 1)["whole"] is False
    assert here.run("import", out).returncode == 0


def test_documents_can_be_copied_to_another_folder(here: Installation, tmp_path: Path):
    done = here.run("migrate-content", "--to", f"embedded:{tmp_path / 'there'}")
    assert done.returncode == 0, done.stderr


def test_a_stopped_installation_can_be_repaired_and_moved_to_postgresql(
    with_postgresql: Installed, tmp_path: Path, postgresql: Server
):
    asyncio.run(postgresql.create_database("wheel"))
    here = Installation(with_postgresql, tmp_path)
    assert start(here).stop() == 0
    assert result_of(here.run("repair", "--dry-run", "--json"))["whole"] is True
    url = postgresql.url("wheel")
    source = f"sqlite:///{tmp_path / 'data' / 'imprint.db'}"
    moved = here.run("migrate-catalog", "--from", source, "--to", url)
    assert moved.returncode == 0, moved.stderr
    there = Installation(with_postgresql, tmp_path, {"IMPRINT_DATABASE_URL": url})
    process = start(there)
    try:
        assert fetch(f"{there.url}/filesMetaData").status_code == 200
        checked = there.run("check", "--write")
        assert "can be written to." in " ".join(checked.stdout.split())
        assert process.stop() == 0, process.tail()
    finally:
        process.kill()


def run_example(python: str | Path, *addresses: str) -> None:
    walk = subprocess.run(
        [str(python), str(EXAMPLE), *addresses],
        env=plain_environ(),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert walk.returncode == 0, walk.stderr
    assert "Bob bought a token and reads" in walk.stdout


def start_dev(python: str | Path, folder: Path) -> tuple[Process, str, str]:
    """Start `imprint dev`, and return its process and the URLs of its service and its node."""
    ports = {name: str(free_port()) for name in ("IMPRINT_PORT", "IMPRINT_DEV_RPC_PORT")}
    settings = ports | {"IMPRINT_DATA_DIR": str(folder / "dev")}
    process = Process([str(python), "-m", "imprint", "dev"], folder / "dev.log", settings)
    url, node = (f"http://127.0.0.1:{port}" for port in ports.values())
    process.start(lambda: is_up(url))
    return process, url, node


def test_the_example_runs_against_the_bare_service(bare: Installed, tmp_path: Path):
    """The node is a development chain in the environment of the tests."""
    dev, _, node = start_dev(sys.executable, tmp_path)
    port = free_port()
    given = {
        "IMPRINT_CHAIN_RPC_URL": node,
        "IMPRINT_CHAIN_FOLLOW_SECONDS": "1",
        "IMPRINT_LOGIN_DOMAINS": f"127.0.0.1:{port}",
        "IMPRINT_PUBLIC_URL": f"http://127.0.0.1:{port}",
    }
    here = Installation(bare, tmp_path, given, port)
    process = here.serve()
    try:
        process.start(lambda: is_up(here.url))
        run_example(bare.python, here.url, node)
        assert here.run("check").returncode == 0
        assert here.run("reconcile", "--from-block", "0").returncode == 0
        saved = result_of(here.run("backup", "--out", tmp_path / "saved", "--json"))
        # The first version of the draft is within its grace period.
        assert (saved["documents"]["private"], saved["documents"]["public"]) == (2, 1)
        assert process.stop() == 0, process.tail()
    finally:
        process.kill()
        dev.kill()


def test_the_example_runs_against_the_development_chain(with_dev: Installed, tmp_path: Path):
    if markers_of(with_dev.python)["python_version"] not in ("3.11", "3.12"):
        done = with_dev.run("dev", cwd=tmp_path)
        assert (done.returncode, "use Python 3.11 or 3.12" in done.stderr) == (2, True)
        return
    process, url, _ = start_dev(with_dev.python, tmp_path)
    try:
        run_example(with_dev.python, url)
        assert process.stop() == 0
    finally:
        process.kill()
