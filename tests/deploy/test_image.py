"""The container image: its configuration, and the service running in it."""

import asyncio
import filecmp
import os
import re
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
from tests.deploy.container import ROOT, TAG, Container, Image
from tests.faults.scene import Scene, open_scene
from tests.processes import PLAIN, free_port

import imprint

pytestmark = pytest.mark.rotates("module")

LONG = bool(os.environ.get("LONG"))


@dataclass(frozen=True, slots=True)
class Deployed:
    """A container that runs the service, and the scene whose requests go to the container."""

    container: Container
    scene: Scene


@pytest.fixture
async def deployed(image: Image, tmp_path: Path) -> AsyncIterator[Deployed]:
    async with open_scene(tmp_path, CHAIN_FOLLOW_SECONDS="2") as scene:
        settings = {f"IMPRINT_{name}": text for name, text in scene.given.items()}
        settings["IMPRINT_DATA_DIR"] = "/data"
        container = Container(image, tmp_path, settings)
        scene.world.client.base_url = container.url
        try:
            container.spawn()
            # Wait in a thread: the chain runs in this process, and must respond in the meantime.
            await asyncio.to_thread(container.wait_for, "/healthz")
            await asyncio.to_thread(container.wait_for, "/readyz")
            yield Deployed(container, scene)
        finally:
            container.kill()


def test_the_image_declares_a_command_a_signal_a_volume_and_a_port(image: Image):
    assert image.config["Entrypoint"] == ["imprint"]
    assert image.config["Cmd"] == ["serve"]
    assert image.config["StopSignal"] == "SIGTERM"
    assert set(image.config["Volumes"]) == {"/data"}
    assert set(image.config["ExposedPorts"]) == {"8000/tcp"}


def test_the_user_of_the_image_is_numeric_and_not_root(image: Image):
    user, group = image.user
    assert user != 0
    assert group != 0


def test_the_labels_name_the_version_and_the_license(image: Image):
    labels = image.config["Labels"]
    assert labels["org.opencontainers.image.version"] == imprint.__version__
    assert labels["org.opencontainers.image.licenses"] == "MIT"
    assert re.fullmatch("[0-9a-f]{40}|unknown", labels["org.opencontainers.image.revision"])


def test_the_image_contains_no_build_tools_or_sources(image: Image):
    packages = {path.name for path in (image.root / "opt/imprint/lib").glob("*/site-packages/*")}
    assert "imprint" in packages
    assert {"pip", "setuptools", "hatchling", "pytest"} & packages == set()
    left = ("etc/pip.conf", "run/certificates.crt", "requirements.lock", "wheel", "source", "build")
    assert [name for name in left if (image.root / name).exists()] == []


def test_every_module_of_the_service_is_compiled(image: Image):
    (package,) = (image.root / "opt/imprint/lib").glob("*/site-packages/imprint")
    sources = list(package.rglob("*.py"))
    assert sources
    assert [
        path
        for path in sources
        if not list((path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"))
    ] == []


@pytest.mark.skipif(not LONG, reason="builds the image twice: LONG=1 make test-deploy")
def test_two_builds_of_the_image_are_identical(image: Image, tmp_path: Path):
    archives = [tmp_path / "first.tar", tmp_path / "second.tar"]
    for archive in archives:
        command = [ROOT / "tools" / "build-image", "--tag", TAG, "--output", archive]
        subprocess.run(command, check=True, cwd=ROOT)
    assert filecmp.cmp(*archives, shallow=False)


async def test_an_author_can_create_a_draft_and_prepare_a_thumbnail(deployed: Deployed):
    world = deployed.scene.world
    author = world.wallet(0)
    draft = await world.create(author, "Written in a container.")
    assert (await world.read_draft(author, draft["cid"])).status_code == 200
    assert await world.publish(author, draft["cid"])  # a thumbnail is decoded in its sandbox


async def test_the_health_check_passes_while_the_service_runs(deployed: Deployed):
    kind, *command = deployed.container.image.config["Healthcheck"]["Test"]
    assert kind == "CMD"
    assert deployed.container.run(command).returncode == 0
    nobody = str(free_port())
    assert deployed.container.run(command, IMPRINT_PORT=nobody).returncode == 1


async def test_the_container_runs_without_privileges(deployed: Deployed):
    fields = deployed.container.status
    user, group = map(str, deployed.container.image.user)
    assert fields["Uid"].split() == [user] * 4
    assert fields["Gid"].split() == [group] * 4
    assert {fields[name].strip("0") for name in ("CapPrm", "CapEff", "CapBnd")} == {""}


async def test_the_container_can_write_only_to_its_volume_and_tmp(deployed: Deployed):
    write = deployed.container.run_shell
    assert write("touch /data/file /tmp/file").returncode == 0
    for folder in ("/", "/etc", "/opt/imprint", "/usr/bin", "/var/tmp", "/run"):
        refused = write(f"touch {folder}/file")
        assert refused.returncode != 0
        assert "Read-only file system" in refused.stderr or "Permission denied" in refused.stderr


async def test_the_image_has_ca_certificates_and_the_extras(deployed: Deployed):
    text = "import asyncpg, obstore, ssl; print(ssl.create_default_context().cert_store_stats())"
    ran = deployed.container.run(["python", "-c", text])
    assert ran.returncode == 0, ran.stderr
    assert int(re.findall(r"'x509_ca': (\d+)", ran.stdout)[0]) > 50


async def test_commands_can_be_run_while_the_service_is_running(deployed: Deployed):
    ran = await asyncio.to_thread(deployed.container.run, ["imprint", "check"])
    assert ran.returncode == 0, ran.stdout + ran.stderr


async def test_sigterm_stops_the_container_with_status_0(deployed: Deployed):
    assert deployed.container.stop() == 0
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(f"{deployed.container.url}/healthz", verify=PLAIN)


async def test_drafts_survive_replacing_the_container(deployed: Deployed):
    world, container = deployed.scene.world, deployed.container
    author = world.wallet(0)
    draft = await world.create(author, "Kept in the volume.")
    assert container.stop() == 0
    container.spawn()
    await asyncio.to_thread(container.wait_for, "/readyz")
    assert (await world.read_draft(author, draft["cid"])).status_code == 200


def test_missing_settings_are_named_and_the_container_exits_with_status_2(
    image: Image, tmp_path: Path
):
    container = Container(image, tmp_path)
    container.spawn()
    assert container.wait() == 2
    assert "IMPRINT_CHAIN_RPC_URL" in container.log.read_text()
