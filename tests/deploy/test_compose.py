"""The compose files, parsed by Compose's own library, match the service and the image."""

import json
import re
import shutil
import subprocess
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.content.kubo_fake import KuboFake
from tests.deploy.container import ROOT, capture
from tests.faults.scene import Scene, open_scene
from tests.postgresql import Server

from imprint.settings import Settings, read_settings

pytestmark = pytest.mark.rotates("module")

DEPLOY = ROOT / "deploy"
NODE = "https://node.example/key"
DATA = "/data"
SECRETS = "/run/secrets/"

VARIANTS = {"kubo": ["compose.yaml"], "s3": ["compose.yaml", "compose.s3.yaml"]}


@dataclass(frozen=True, slots=True)
class Project:
    """A copy of `deploy/` with secrets, and its parsed Compose configuration."""

    folder: Path
    validator: Path

    def load(self, *files: str) -> "subprocess.CompletedProcess[str]":
        paths = [self.folder / name for name in files]
        return capture(self.validator, self.folder / ".env", *paths, env={}, cwd=self.folder)

    def services(self, variant: str) -> dict[str, Any]:
        return dict(self.model(variant)["services"])

    def model(self, variant: str) -> dict[str, Any]:
        loaded = self.load(*VARIANTS[variant])
        assert loaded.returncode == 0, loaded.stderr
        return dict(json.loads(loaded.stdout))

    def environ(self, variant: str) -> dict[str, str]:
        """Return the service's environment, with the paths of secrets as seen outside the
        container."""
        given: Mapping[str, str | None] = self.services(variant)["imprint"]["environment"]
        return {
            name: (text or "").replace(SECRETS, f"{self.folder}/secrets/")
            for name, text in given.items()
        }


@pytest.fixture
def project(validators: Path, tmp_path: Path) -> Project:
    folder = tmp_path / "deploy"
    shutil.copytree(DEPLOY, folder, ignore=shutil.ignore_patterns("secrets", ".env"))
    shutil.copy(folder / "compose.env.example", folder / ".env")
    subprocess.run([folder / "make-secrets", NODE], check=True, capture_output=True)
    return Project(folder, validators / "compose")


@pytest.fixture(params=VARIANTS)
def variant(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def _settings(project: Project, variant: str) -> Settings:
    return read_settings(project.environ(variant))


def test_every_setting_is_accepted(project: Project, variant: str):
    settings = _settings(project, variant)
    assert settings.server.public_url == "https://imprint.example"
    assert [url.reveal() for url in settings.chain.rpc_urls] == [NODE]
    assert settings.warnings == ()


def test_the_compose_file_has_all_services_of_a_deployment(project: Project, variant: str):
    store = {"kubo": {"kubo"}, "s3": {"minio"}}[variant]
    profiles = {"s3": "COMPOSE_PROFILES=", "kubo": "COMPOSE_PROFILES=kubo"}[variant]
    env = project.folder / ".env"
    env.write_text(env.read_text().replace("COMPOSE_PROFILES=kubo", profiles))
    assert set(project.services(variant)) == {"imprint", "postgresql", "caddy"} | store


def test_an_error_in_the_file_is_detected(project: Project):
    path = project.folder / "compose.yaml"
    text = path.read_text()
    for right, wrong in (("cap_drop:", "cap_drops:"), ("service_healthy", "service_happy")):
        path.write_text(text.replace(right, wrong))
        assert project.load("compose.yaml").returncode == 1


@pytest.mark.parametrize(
    "name", ["SITE_ADDRESS", "CHAIN_ID", "MARKETPLACE_ADDRESS", "CHAIN_START_BLOCK"]
)
def test_a_missing_required_variable_is_an_error(project: Project, name: str):
    env = project.folder / ".env"
    env.write_text(re.sub(rf"^{name}=.*$", f"{name}=", env.read_text(), flags=re.MULTILINE))
    loaded = project.load("compose.yaml")
    assert loaded.returncode == 1
    assert name in loaded.stderr


def test_every_variable_is_in_the_example_file(project: Project):
    text = "".join((DEPLOY / name).read_text() for name in VARIANTS["s3"])
    read = set(re.findall(r"\$\{(\w+)", text))
    shown = set(re.findall(r"^(\w+)=", (DEPLOY / "compose.env.example").read_text(), re.MULTILINE))
    # A custom image, and the settings of a bucket, are explained where they are used.
    assert read - shown == {"IMAGE", "S3_ALLOW_HTTP", "S3_ENDPOINT", "S3_REGION"}
    assert shown - read == {"COMPOSE_PROFILES"}


def test_no_container_is_privileged_or_has_a_writable_root(project: Project, variant: str):
    for name, service in project.services(variant).items():
        assert service["read_only"], name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert not service.get("privileged"), name
        assert service.get("cap_add", []) == (["NET_BIND_SERVICE"] if name == "caddy" else []), name


def test_every_container_has_a_health_check_limits_and_a_restart_policy(
    project: Project, variant: str
):
    for name, service in project.services(variant).items():
        assert service["healthcheck"]["test"][0] == "CMD", name
        assert set(service["deploy"]["resources"]["limits"]) == {"cpus", "memory", "pids"}, name
        assert service["restart"] == "unless-stopped", name


def test_every_image_is_pinned_to_a_version(project: Project, variant: str):
    images = {name: each["image"] for name, each in project.services(variant).items()}
    assert [each for each in images.values() if not re.search(r":v?\d|:RELEASE\.\d", each)] == []
    tested = re.findall(r"github.com/ipfs/kubo (v\S+)", (ROOT / "tests/kubo/go.mod").read_text())
    if variant == "kubo":
        assert images["kubo"].partition(":")[2] == tested[0]


def test_secrets_are_passed_as_files_and_never_in_the_environment(project: Project, variant: str):
    model = project.model(variant)
    secrets = {name: Path(each["file"]) for name, each in model["secrets"].items()}
    assert [path for path in secrets.values() if not path.is_file()] == []
    texts = {path.read_text().strip() for path in secrets.values()}
    for name, service in model["services"].items():
        given = {each["source"] for each in service.get("secrets", [])}
        read = {
            text.removeprefix(SECRETS)
            for text in service.get("environment", {}).values()
            if text and text.startswith(SECRETS)
        }
        assert given == read, name
        assert texts.isdisjoint(service.get("environment", {}).values()), name


def test_every_mounted_file_exists(project: Project, variant: str):
    model = project.model(variant)
    for service in model["services"].values():
        for each in service.get("volumes", []):
            if each["type"] == "bind":
                assert Path(each["source"]).is_file(), each
            else:
                assert each["source"] in model["volumes"], each


def test_only_the_proxy_network_is_trusted(project: Project):
    model = project.model("kubo")
    (network,) = model["networks"]["proxy"]["ipam"]["config"]
    trusted = model["services"]["imprint"]["environment"]["IMPRINT_TRUSTED_PROXIES"]
    assert trusted == network["subnet"]
    assert set(model["services"]["caddy"]["networks"]) == {"proxy"}
    joined = {name for name, each in model["services"].items() if "proxy" in each["networks"]}
    assert joined == {"caddy", "imprint"}


def test_only_the_proxy_and_the_kubo_swarm_publish_ports(project: Project, variant: str):
    ports = {
        name: {int(each["published"]) for each in service["ports"]}
        for name, service in project.services(variant).items()
        if service.get("ports")
    }
    ports.pop("kubo", None)
    assert ports == {"caddy": {80, 443}}


def test_the_health_check_matches_the_image(project: Project):
    test = project.services("kubo")["imprint"]["healthcheck"]["test"]
    text = (DEPLOY / "Containerfile").read_text()
    (written,) = re.findall(r"HEALTHCHECK .*\\\n\s+CMD (\[.*\])", text)
    assert test[1:] == json.loads(written)


def test_a_container_has_enough_time_to_finish_its_requests(project: Project):
    grace = project.services("kubo")["imprint"]["stop_grace_period"]
    minutes = re.fullmatch(r"(\d+)m0s", grace)
    assert minutes
    assert int(minutes[1]) * 60 > _settings(project, "kubo").limits.shutdown_seconds + 10


def test_an_amazon_bucket_has_no_endpoint_and_requires_tls(project: Project):
    chosen = "CONTENT_STORE=s3://documents/imprint\nS3_ENDPOINT=\nS3_ALLOW_HTTP=off\n"
    env = project.folder / ".env"
    env.write_text(env.read_text().replace("CONTENT_STORE=kubo:http://kubo:5001\n", chosen))
    storage = _settings(project, "s3").storage
    assert (storage.s3_endpoint, storage.s3_allow_http) == (None, False)


def test_existing_secrets_are_kept(project: Project):
    folder = project.folder / "secrets"
    before = {path.name: path.read_text() for path in folder.iterdir()}
    subprocess.run([project.folder / "make-secrets", "https://other.example"], check=True)
    assert {path.name: path.read_text() for path in folder.iterdir()} == before
    assert folder.stat().st_mode & 0o777 == 0o700
    # Containers read them as other users, and their owner can rewrite a file.
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o644}


def test_make_secrets_requires_the_url_of_a_node(project: Project):
    ran = capture(project.folder / "make-secrets")
    assert ran.returncode == 2
    assert "RPC_URL" in ran.stderr


@pytest.fixture
async def kubo() -> AsyncIterator[KuboFake]:
    node = KuboFake()
    await node.start()
    yield node
    await node.stop()


async def _open_replicas(scene: Scene, environ: Mapping[str, str], address: Mapping[str, str]):
    given = {name.removeprefix("IMPRINT_"): text for name, text in environ.items()}
    # The test sets its own chain, database and ports.
    for name in ("CHAIN_RPC_URL_FILE", "DATABASE_URL_FILE", "METRICS_PORT", "SIGNING_NAME"):
        del given[name]
    own = ("CHAIN_ID", "CHAIN_RPC_URL", "MARKETPLACE_ADDRESS", "CHAIN_START_BLOCK", "LOGIN_DOMAINS")
    chain = {name: scene.given[name] for name in own if name in scene.given}
    replicas = []
    for index in range(2):
        # As in the containers, each has its own folder.
        folder = {"DATA_DIR": str(scene.folder / f"data-{index}")}
        settings = {**given, "CHAIN_START_BLOCK": "0", **chain, **address, **folder}
        scene.given = {"HOST": "127.0.0.1", **settings}
        replicas.append(scene.replica())
    return replicas


async def test_each_replica_serves_documents_stored_by_the_other(
    project: Project, postgresql: Server, kubo: KuboFake, tmp_path: Path
):
    environ = project.environ("kubo")
    database = await postgresql.create_database("compose")
    address = {"DATABASE_URL": database, "CONTENT_STORE": f"kubo:{kubo.address}"}
    async with open_scene(tmp_path) as scene:
        first, second = await _open_replicas(scene, environ, address)
        await first.start()
        await second.start()
        world = scene.world
        author = world.wallet(0)
        draft = await world.create(author, "Stored by the first replica.")
        world.client.base_url = second.url
        read = await world.read_draft(author, draft["cid"])
        assert read.status_code == 200, read.text
        kept = [path for index in range(2) for path in (tmp_path / f"data-{index}").rglob("*")]
        assert [path for path in kept if path.is_file() and b"replica" in path.read_bytes()] == []
        assert all(b"first replica" not in block for block in kubo.blocks.values())
