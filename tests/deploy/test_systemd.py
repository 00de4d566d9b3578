"""The systemd unit: its exposure score, and the service in its sandbox."""

import asyncio
import re
import shutil
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.deploy.container import ROOT, Image, capture
from tests.deploy.machine import Machine, booted, copy_tree, make_root
from tests.faults.scene import Replica, Scene, open_scene
from tests.faults.test_reload import DONE
from tests.processes import free_port

from imprint.settings import read_settings

pytestmark = pytest.mark.rotates("module")

FOLDER = ROOT / "deploy" / "systemd"
UNIT = FOLDER / "imprint.service"
SETTINGS = FOLDER / "imprint.toml.example"
MOST_EXPOSURE = 20
"""The maximum exposure in tenths, as used by `systemd-analyze security --threshold`."""


def _install(root: Path, environment: Path | None = None) -> None:
    """Install the files named by the unit, or placeholders for them, into a root folder."""
    program = root / "opt/imprint/bin/imprint"
    if environment is None:
        program.parent.mkdir(parents=True)
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    else:
        copy_tree(environment, root / "opt/imprint")
    target = root / "etc/systemd/system"
    target.mkdir(parents=True, exist_ok=True)
    shutil.copy(UNIT, target)


def test_systemd_finds_no_errors_in_the_unit(tmp_path: Path):
    _install(tmp_path)
    for name in ("usr/lib/systemd/system", "bin"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("sysinit", "basic", "shutdown", "network-online", "multi-user"):
        (tmp_path / f"usr/lib/systemd/system/{name}.target").write_text("[Unit]\n")
    shutil.copy("/bin/sh", tmp_path / "bin")
    verified = capture(
        *("systemd-analyze", "verify", f"--root={tmp_path}", "--man=no", "imprint.service")
    )
    assert verified.returncode == 0, verified.stderr
    assert "imprint.service" not in verified.stderr


def test_the_security_exposure_level_of_the_unit_is_at_most_2():
    options = ("--offline=true", "--no-pager", f"--threshold={MOST_EXPOSURE}")
    analyzed = capture("systemd-analyze", "security", *options, UNIT)
    assert analyzed.returncode == 0, analyzed.stdout
    assert re.search(r"Overall exposure level for \S+: [01]\.\d", analyzed.stdout)


def test_the_settings_in_the_example_are_accepted(tmp_path: Path):
    (tmp_path / "jwt_secret").write_text("5f0c81be27d4693b1f0c8e9d2a7465fd")
    (tmp_path / "chain_rpc_url").write_text("https://node.example/key")
    config = tmp_path / "imprint.toml"
    config.write_text(SETTINGS.read_text().replace("/etc/imprint/secrets", str(tmp_path)))
    settings = read_settings({}, config)
    assert settings.warnings == ()
    assert str(settings.storage.data_dir) == "/var/lib/imprint"


@dataclass(frozen=True, slots=True)
class Installed:
    """A machine with the unit and a chain, which receives the requests of the scene."""

    machine: Machine
    scene: Scene
    replica: Replica

    def show(self, name: str) -> str:
        """Return a property of the unit."""
        return self.machine.succeed(f"systemctl show --property={name} --value imprint").strip()

    def wait_for(self, name: str, value: str) -> None:
        """Wait until a property of the unit has a value."""
        self._try_until(f'[ "$(systemctl show --property={name} --value imprint)" = "{value}" ]')

    def wait_for_log(self, text: str) -> None:
        """Wait until the journal contains a text, which is written shortly after the event."""
        self._try_until(f"journalctl --unit imprint --no-pager --lines 50 | grep -F '{text}'")

    def _try_until(self, command: str) -> None:
        self.machine.succeed(f"for _ in $(seq 600); do {command} && exit; sleep 0.1; done; exit 1")

    @property
    def config(self) -> Path:
        return self.machine.root / "etc/imprint/imprint.toml"


@pytest.fixture(scope="module")
def machine(image: Image, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    folder = tmp_path_factory.mktemp("systemd")
    root = make_root(folder, "bookworm", "ca-certificates,dbus,python3,systemd-sysv")
    _install(root, image.root / "opt/imprint")
    with booted(root, folder / "boot.log") as running:
        running.succeed(
            "useradd --system --user-group --home-dir /var/lib/imprint --no-create-home"
            " --shell /usr/sbin/nologin imprint\n"
            "install --directory --group imprint --mode 0750 /etc/imprint /etc/imprint/secrets\n"
        )
        yield running


@pytest.fixture
async def installed(machine: Machine, tmp_path: Path) -> AsyncIterator[Installed]:
    async with open_scene(tmp_path) as scene:
        replica = scene.replica()
        port = {"PORT": str(replica.port), "METRICS_PORT": str(free_port())}
        _configure(machine, {**scene.given, **port, "WORKERS": "2"})
        unit = Installed(machine, scene, replica)
        try:
            machine.succeed("systemctl start imprint")
            await _wait_until_ready(unit)
            yield unit
        finally:
            machine.run("systemctl stop imprint; rm -rf /var/lib/imprint")


def _configure(machine: Machine, given: dict[str, str]) -> None:
    secrets = {"CHAIN_RPC_URL": "chain_rpc_url", "JWT_SECRET": "jwt_secret"}
    lines = ['data_dir = "/var/lib/imprint"']
    for name, text in given.items():
        if name in secrets:
            path = f"/etc/imprint/secrets/{secrets[name]}"
            (machine.root / path[1:]).write_text(text)
            lines.append(f'{name.lower()}_file = "{path}"')
        elif name != "DATA_DIR" and text:
            lines.append(f'{name.lower()} = "{text}"')
    (machine.root / "etc/imprint/imprint.toml").write_text("\n".join(lines) + "\n")
    machine.succeed(
        "chgrp --recursive imprint /etc/imprint; chmod 0640 /etc/imprint/*.toml /etc/imprint/*/*"
    )


async def _wait_until_ready(unit: Installed) -> None:
    # The replica is not started: systemd runs the service that has its port.
    unit.replica.process.command = ("sleep", "3600")
    if not unit.replica.process.runs:
        unit.replica.process.spawn()
    try:
        await unit.replica.wait_for(200, "/readyz")
    except TimeoutError as error:
        log = unit.machine.run("journalctl --unit imprint --no-pager --lines 50").stdout
        raise TimeoutError(log) from error


async def test_the_service_works_in_the_sandbox(installed: Installed):
    world = installed.scene.world
    author = world.wallet(0)
    draft = await world.create(author, "Written under systemd.")
    assert (await world.read_draft(author, draft["cid"])).status_code == 200
    # A thumbnail is decoded by a process that limits itself.
    assert await world.publish(author, draft["cid"])
    assert installed.show("NRestarts") == "0"


async def test_the_service_has_no_privileges(installed: Installed):
    pid = installed.show("MainPID")
    status = installed.machine.succeed(f"cat /proc/{pid}/status")
    fields = dict(re.findall(r"^(\w+):\s+(.*)$", status, re.MULTILINE))
    assert fields["NoNewPrivs"] == "1"
    assert fields["Seccomp"] == "2"
    assert {fields[name].strip("0") for name in ("CapPrm", "CapEff", "CapBnd")} == {""}
    assert "0" not in fields["Uid"].split()


async def test_only_the_data_folder_is_writable(installed: Installed):
    pid = installed.show("MainPID")
    inside = f"nsenter --target {pid} --mount --setuid $(id -u imprint) --setgid $(id -g imprint)"
    installed.machine.succeed(f"{inside} touch /var/lib/imprint/file")
    for folder in ("/", "/etc/imprint", "/opt/imprint", "/usr", "/var/lib", "/home", "/root"):
        # As root, to whom permissions do not apply.
        ran = installed.machine.run(f"nsenter --target {pid} --mount touch {folder}/file")
        assert ran.returncode != 0, folder


async def test_a_reload_reads_the_settings_and_keeps_the_service_running(installed: Installed):
    before = installed.show("MainPID")
    installed.config.write_text(installed.config.read_text() + 'signing_name = "Renamed"\n')
    installed.machine.succeed("systemctl reload imprint")
    # systemd only sends the signal; the service reports when it begins and ends.
    installed.wait_for_log(DONE)
    installed.wait_for("ActiveState", "active")
    await _wait_until_ready(installed)
    assert installed.show("MainPID") == before
    await _wait_until_named(installed, "Renamed")


async def _wait_until_named(unit: Installed, name: str) -> None:
    # Old workers serve requests until they have ended.
    async with asyncio.timeout(60):
        while True:
            facts = await unit.scene.world.client.get("/.well-known/imprint.json")
            if facts.json()["signing"]["name"] == name:
                return
            await asyncio.sleep(0.1)


async def test_systemctl_stop_exits_with_success(installed: Installed):
    installed.machine.succeed("systemctl stop imprint")
    assert installed.show("Result") == "success"
    assert installed.show("ExecMainStatus") == "0"


async def test_the_service_is_restarted_after_a_crash(installed: Installed):
    before = installed.show("MainPID")
    installed.machine.succeed(f"kill -s KILL {before}")
    installed.wait_for("NRestarts", "1")
    await _wait_until_ready(installed)
    assert installed.show("MainPID") != before


async def test_a_service_with_invalid_settings_is_not_restarted(installed: Installed):
    installed.machine.succeed("systemctl stop imprint")
    right = installed.config.read_text()
    installed.config.write_text(right + 'chain_quorum = "many"\n')
    installed.machine.run("systemctl start imprint")
    installed.wait_for("ActiveState", "failed")
    assert installed.show("ExecMainStatus") == "2"
    assert installed.show("NRestarts") == "0"
    installed.wait_for_log("IMPRINT_CHAIN_QUORUM")
