"""The Kubernetes manifests, decoded with Kubernetes' own types, match the service."""

import json
import re
from collections.abc import Mapping
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from tests.deploy.container import ROOT, capture

from imprint.settings import SETTINGS, Settings, read_settings

pytestmark = pytest.mark.rotates("module")

FOLDER = ROOT / "deploy" / "kubernetes"
Manifest = Mapping[str, Any]


@pytest.fixture(scope="module")
def manifests(validators: Path) -> list[Manifest]:
    files = sorted(path for path in FOLDER.glob("*.yaml") if path.name != "kustomization.yaml")
    decoded = capture(validators / "manifests", *files)
    assert decoded.returncode == 0, decoded.stderr
    found: list[Manifest] = json.loads(decoded.stdout)
    return found


def _named(manifests: list[Manifest], kind: str, name: str = "imprint") -> Manifest:
    (found,) = (
        each for each in manifests if each["kind"] == kind and each["metadata"]["name"] == name
    )
    return found


@pytest.fixture
def pod(manifests: list[Manifest]) -> Manifest:
    spec: Manifest = _named(manifests, "Deployment")["spec"]["template"]["spec"]
    return spec


@pytest.fixture
def container(pod: Manifest) -> Manifest:
    (found,) = pod["containers"]
    return found  # type: ignore[no-any-return]


def _secret_files(pod: Manifest, container: Manifest, folder: Path, secret: Manifest) -> None:
    for name, text in secret["stringData"].items():
        (folder / name).write_text(text)
    (mount,) = (each for each in container["volumeMounts"] if each["name"] == "secrets")
    (volume,) = (each for each in pod["volumes"] if each["name"] == "secrets")
    assert volume["secret"]["secretName"] == secret["metadata"]["name"]
    assert mount["mountPath"] == "/run/secrets/imprint"


@pytest.fixture
def settings(
    manifests: list[Manifest], pod: Manifest, container: Manifest, tmp_path: Path
) -> Settings:
    """The settings that the service reads in a pod, with the secrets of the example."""
    _secret_files(pod, container, tmp_path, _named(manifests, "Secret"))
    (reference,) = container["envFrom"]
    environ = dict(_named(manifests, "ConfigMap", reference["configMapRef"]["name"])["data"])
    for each in container["env"]:
        environ[each["name"]] = each["value"].replace("/run/secrets/imprint", str(tmp_path))
    return read_settings(environ)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("replicas: 2", "replicas: two"), "cannot unmarshal"),
        (("minReadySeconds: 5", "minReadySecond: 5"), "unknown field"),
        (("kind: Deployment", "kind: Deploymen"), "no kind"),
    ],
)
def test_an_error_in_a_manifest_is_detected(
    validators: Path, tmp_path: Path, change: tuple[str, str], complaint: str
):
    text = (FOLDER / "deployment.yaml").read_text()
    assert change[0] in text
    (tmp_path / "wrong.yaml").write_text(text.replace(*change))
    decoded = capture(validators / "manifests", tmp_path / "wrong.yaml")
    assert decoded.returncode == 1
    assert complaint in decoded.stderr


def test_every_manifest_except_the_example_secret_is_applied():
    listed = re.findall(
        r"^  - (\S+\.yaml)$", (FOLDER / "kustomization.yaml").read_text(), re.MULTILINE
    )
    present = {path.name for path in FOLDER.glob("*.yaml")}
    assert set(listed) == present - {"kustomization.yaml", "secret.example.yaml"}


def test_every_setting_in_the_manifests_exists(manifests: list[Manifest], container: Manifest):
    known = {each.name for each in SETTINGS}
    named = set(_named(manifests, "ConfigMap")["data"])
    named |= {each["name"].removesuffix("_FILE") for each in container["env"]}
    assert named - known == set()


def test_the_settings_are_accepted(settings: Settings):
    assert settings.server.public_url == "https://imprint.example"
    assert settings.warnings == ()


def test_the_ports_are_consistent(
    manifests: list[Manifest], container: Manifest, settings: Settings
):
    ports = {each["name"]: each["containerPort"] for each in container["ports"]}
    assert ports == {"http": settings.server.port, "metrics": settings.server.metrics_port}
    for service in (each for each in manifests if each["kind"] == "Service"):
        assert {each["targetPort"] for each in service["spec"]["ports"]} <= set(ports)
    allowed = {
        port["port"]
        for rule in _named(manifests, "NetworkPolicy")["spec"]["ingress"]
        for port in rule["ports"]
    }
    assert allowed == set(ports)
    annotations = _named(manifests, "Deployment")["spec"]["template"]["metadata"]["annotations"]
    assert annotations["prometheus.io/port"] == str(settings.server.metrics_port)


def test_only_the_ingress_is_trusted(manifests: list[Manifest], settings: Settings):
    """If a large range of pods were trusted, any of them could claim any client's address."""
    for network in settings.server.trusted_proxies:
        assert ip_network(network).num_addresses <= 16
    for rule in _named(manifests, "NetworkPolicy")["spec"]["ingress"]:
        for peer in rule["from"]:
            # Both in one peer: pods with these labels in this namespace.
            assert peer["namespaceSelector"]["matchLabels"]
            assert peer["podSelector"]["matchLabels"]


def test_the_probes_use_the_liveness_and_readiness_endpoints(container: Manifest):
    paths = {kind: container[f"{kind}Probe"]["httpGet"]["path"] for kind in _PROBES}
    assert paths == _PROBES
    assert {container[f"{kind}Probe"]["httpGet"]["port"] for kind in _PROBES} == {"http"}


_PROBES = {"startup": "/healthz", "liveness": "/healthz", "readiness": "/readyz"}


def test_a_new_pod_is_ready_before_an_old_one_stops(manifests: list[Manifest]):
    spec = _named(manifests, "Deployment")["spec"]
    assert spec["replicas"] >= 2
    assert spec["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    assert _named(manifests, "PodDisruptionBudget")["spec"]["maxUnavailable"] == 1


def test_a_pod_has_enough_time_to_finish_its_requests(
    pod: Manifest, container: Manifest, settings: Settings
):
    pause = int(container["lifecycle"]["preStop"]["exec"]["command"][1])
    least = pause + settings.limits.shutdown_seconds + 10
    assert pod["terminationGracePeriodSeconds"] >= least


def test_a_pod_is_unprivileged_and_has_a_read_only_root(pod: Manifest, container: Manifest):
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert not pod["automountServiceAccountToken"]
    text = (ROOT / "deploy" / "Containerfile").read_text()
    assert f"USER {pod['securityContext']['runAsUser']}:" in text


def test_service_links_do_not_overwrite_the_port(pod: Manifest):
    assert pod["enableServiceLinks"] is False


def test_labels_select_the_pods_of_the_deployment(manifests: list[Manifest]):
    template = _named(manifests, "Deployment")["spec"]["template"]
    labels = template["metadata"]["labels"].items()
    spread = [each["labelSelector"] for each in template["spec"]["topologySpreadConstraints"]]
    selectors = [
        _named(manifests, "Deployment")["spec"]["selector"]["matchLabels"],
        _named(manifests, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
        _named(manifests, "NetworkPolicy")["spec"]["podSelector"]["matchLabels"],
        *(each["spec"]["selector"] for each in manifests if each["kind"] == "Service"),
        *(each["matchLabels"] for each in spread),
    ]
    assert [each for each in selectors if not each.items() <= labels] == []


def test_the_example_secret_has_every_file_that_a_setting_names(
    manifests: list[Manifest], container: Manifest
):
    named = {Path(each["value"]).name for each in container["env"]}
    assert named == set(_named(manifests, "Secret")["stringData"])
