"""The deployment page: its commands, the files it names, and a new machine set up with it."""

import asyncio
import os
import re
import shutil
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import httpx2
import pytest
from tests.deploy.container import ROOT, capture
from tests.deploy.machine import Machine, booted, make_root
from tests.faults.scene import Scene, open_scene
from tests.world import DOMAIN

from imprint.cli import main

PAGE = (ROOT / "docs" / "deploying.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"<!-- (\w+: \w+) -->\n```sh\n(.*?)```", PAGE, re.DOTALL))
LONG = bool(os.environ.get("LONG"))
SITE = "localhost"
AUTHORITY = "/var/lib/caddy/.local/share/caddy/pki/authorities/local/root.crt"

pytestmark = pytest.mark.timeout(1200)


def test_every_command_block_has_a_name():
    assert PAGE.count("```sh") == len(BLOCKS)


@pytest.mark.parametrize("name", BLOCKS)
def test_the_commands_are_valid_shell_syntax(name: str):
    assert capture("bash", "-n", "-c", BLOCKS[name]).returncode == 0


def test_every_deploy_file_named_on_the_page_exists():
    named = set(re.findall(r"(?<![\w/.-])deploy/[\w./-]*[\w]", PAGE))
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_imprint_command_and_option_on_the_page_exists():
    lines = re.findall(r"(?:bin/|`)imprint ([a-z-]+)((?: [^\n`|>]+)?)", PAGE)
    assert {"backup", "check", "migrate-catalog", "restore"} <= {command for command, _ in lines}
    context = click.Context(main)
    for name, rest in lines:
        command = main.get_command(context, name)
        assert command is not None, name
        options = {each for parameter in command.params for each in parameter.opts}
        assert set(re.findall(r"--[a-z-]+", rest)) <= options, name


def test_the_scores_and_versions_on_the_page_match_the_files():
    unit = ROOT / "deploy" / "systemd" / "imprint.service"
    analyzed = capture("systemd-analyze", "security", "--offline=true", "--no-pager", unit).stdout
    (score,) = re.findall(r"Overall exposure level for \S+: (\d\.\d)", analyzed)
    assert f"`systemd-analyze security imprint`: {score}" in PAGE


@dataclass(frozen=True, slots=True)
class Trial:
    """A new Debian machine with the files of deploy/, and a chain."""

    machine: Machine
    scene: Scene

    def follow(self, name: str) -> str:
        """Run the commands of a code block, with this test's names instead of the example names."""
        text = BLOCKS[name].replace("YOUR-SITE", SITE)
        text = re.sub(r"imprint_press-[\d.]+-py3-none-any\.whl", "./imprint_press-*.whl", text)
        text = text.replace("https://node.example/key", self.scene.given["CHAIN_RPC_URL"])
        text = text.replace(
            "curl --fail", f"curl --fail --cacert {AUTHORITY} --retry 20 --retry-all-errors"
        )
        return self.machine.succeed(f"cd /srv/imprint\n{text}", seconds=600)

    async def type(self, name: str) -> str:
        """Run the commands of a code block while the chain in this process keeps responding."""
        return await asyncio.to_thread(self.follow, name)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    root = make_root(tmp_path, "trixie", "ca-certificates,dbus,systemd-sysv")
    source = root / "srv/imprint"
    shutil.copytree(ROOT / "deploy", source / "deploy")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*build, "--no-build-isolation", "-w", source, ROOT], check=True)
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    bundle = Path("/etc/ssl/certs/ca-certificates.crt")
    shutil.copy(bundle, root / "srv/certificates.crt")
    (root / "etc/pip.conf").write_text("[global]\ncert = /srv/certificates.crt\n")
    with booted(root, tmp_path / "boot.log") as running:
        yield running


@pytest.fixture
async def trial(machine: Machine, tmp_path: Path) -> AsyncIterator[Trial]:
    async with open_scene(tmp_path) as scene:
        yield Trial(machine, scene)


def _edit_settings(trial: Trial) -> None:
    path = trial.machine.root / "etc/imprint/imprint.toml"
    text = path.read_text()
    for name, value in {
        "public_url": f'"https://{SITE}"',
        "login_domains": f'["{DOMAIN}"]',
        "signing_name": '"Imprint"',
        "chain_id": trial.scene.given["CHAIN_ID"],
        "marketplace_address": f'"{trial.scene.given["MARKETPLACE_ADDRESS"]}"',
        "chain_start_block": "0",
    }.items():
        text, count = re.subn(rf"^{name} = .*$", f"{name} = {value}", text, flags=re.MULTILINE)
        assert count == 1, name
    path.write_text(text)


@pytest.mark.skipif(not LONG, reason="takes minutes: LONG=1 make test-deploy")
async def test_following_the_page_sets_up_a_service_behind_caddy_on_an_empty_debian(trial: Trial):
    for step in ("packages", "service", "database", "settings"):
        await trial.type(f"debian: {step}")
    _edit_settings(trial)
    for step in ("start", "caddy"):
        await trial.type(f"debian: {step}")
    assert '"status":"ready"' in await trial.type("debian: look")
    world = trial.scene.world
    trusted = ssl.create_default_context(cafile=trial.machine.root / AUTHORITY[1:])
    async with httpx2.AsyncClient(base_url=f"https://{SITE}", verify=trusted) as client:
        world.client = client
        author = world.wallet(0)
        draft = await world.create(author, "Written on a new machine.")
        assert await world.publish(author, draft["cid"])
        await trial.type("debian: backup")
        trial.machine.succeed("systemctl stop imprint; rm -r /var/lib/imprint")
        trial.machine.succeed("runuser --user postgres -- dropdb imprint")
        trial.machine.succeed(BLOCKS["debian: database"].splitlines()[-1])
        await trial.type("debian: restore")
        trial.machine.succeed("systemctl start imprint")
        await trial.type("debian: look")
        assert (await world.read_draft(author, draft["cid"])).status_code == 200
    await trial.type("debian: upgrade")
    await trial.type("debian: look")
