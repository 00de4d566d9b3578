"""`make release`, run in a copy of the project with its own git history."""

import json
import re
import shutil
import subprocess
import sys
import tarfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tests.house.sources import kept_files
from tools.distributions import read_version
from tools.files import ROOT
from tools.image_archive import write_reproducible
from tools.pinned_images import (
    NotPinned,
    find_images,
    pin_images,
    read_digest,
    write_deployment,
)
from tools.release import image_problems, sums_problems
from tools.runtime_lock import read_project, runtime_entries

VERSION = read_version().removesuffix(".dev")
UNRELEASED = "## [Unreleased]\n\n"
RELEASED = f"{UNRELEASED}## [{VERSION}] - 2026-11-15\n\n"


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=A tester", "-c", "user.email=tester@imprint.test"]
    command = ["git", *identity, *arguments]
    return subprocess.run(
        command, cwd=folder, check=True, capture_output=True, text=True, timeout=60
    ).stdout


def release(folder: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tools.release", "--without-image"]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the current project, committed as a release with its changelog entry."""
    folder = tmp_path_factory.mktemp("project")
    for path in kept_files():
        target = folder / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    changelog = folder / "CHANGELOG.md"
    if f"## [{VERSION}]" not in changelog.read_text("utf-8"):
        text = changelog.read_text("utf-8").replace(UNRELEASED, RELEASED)
        changelog.write_text(text, "utf-8")
    package = folder / "src" / "imprint" / "__init__.py"
    package.write_text(package.read_text("utf-8").replace(f'"{VERSION}.dev"', f'"{VERSION}"'))
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "All of it")
    return folder


@pytest.fixture(scope="module")
def released(project: Path) -> Path:
    done = release(project)
    assert done.returncode == 0, done.stderr
    return project / "dist"


def test_a_release_has_all_its_files(released: Path):
    assert {path.name for path in released.iterdir()} == {
        f"imprint_press-{VERSION}-py3-none-any.whl",
        f"imprint_press-{VERSION}.tar.gz",
        f"imprint_press-{VERSION}-requirements.txt",
        f"imprint_press-{VERSION}.cdx.json",
        f"imprint_press-{VERSION}.provenance.json",
        "SHA256SUMS",
    }


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="there is no sha256sum")
def test_the_checksums_can_be_verified_with_sha256sum(released: Path):
    command = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
    assert subprocess.run(command, cwd=released, check=False, capture_output=True).returncode == 0


def test_changed_missing_and_foreign_files_are_detected(released: Path, tmp_path: Path):
    folder = tmp_path / "dist"
    shutil.copytree(released, folder)
    assert sums_problems(folder) == []
    (folder / f"imprint_press-{VERSION}.cdx.json").write_text("{}")
    (folder / f"imprint_press-{VERSION}.tar.gz").unlink()
    (folder / "notes.txt").touch()
    assert [problem.split(" ", 1)[1] for problem in sums_problems(folder)] == [
        "is not there.",
        "has no checksum.",
        "has another checksum.",
    ]


def test_the_bill_of_materials_lists_the_packages_of_the_lock_file(released: Path):
    bill = json.loads((released / f"imprint_press-{VERSION}.cdx.json").read_text("utf-8"))
    assert bill["metadata"]["component"]["version"] == VERSION
    python = [each for each in bill["components"] if each["purl"].startswith("pkg:pypi/")]
    named = {each["name"]: each for each in python}
    assert named.keys() == {each.name for each in runtime_entries(read_project().extras)}
    assert (named["click"]["scope"], named["asyncpg"]["scope"]) == ("required", "optional")
    assert all(each["hashes"] for each in named.values())
    assert not named.keys() & {"pytest", "hatchling", "uv"}


def test_the_bill_of_materials_lists_the_npm_packages_in_the_pages(released: Path):
    bill = json.loads((released / f"imprint_press-{VERSION}.cdx.json").read_text("utf-8"))
    purls = {each["purl"].rpartition("@")[0]: each for each in bill["components"]}
    preact = purls["pkg:npm/preact"]
    assert preact["licenses"] == [{"license": {"id": "MIT"}}]
    assert preact["hashes"][0]["alg"] == "SHA-512"
    assert "pkg:npm/%40codemirror/view" in purls
    # These packages build the pages, but are not contained in them.
    assert not {"pkg:npm/esbuild", "pkg:npm/typescript"} & purls.keys()


def provenance_of(folder: Path) -> dict[str, Any]:
    statement = (folder / f"imprint_press-{VERSION}.provenance.json").read_text("utf-8")
    return dict(json.loads(statement))


def test_the_provenance_names_the_files_the_commit_and_the_locked_inputs(
    project: Path, released: Path
):
    statement = provenance_of(released)
    sums = (released / "SHA256SUMS").read_text().splitlines()
    assert {f"{each['digest']['sha256']}  {each['name']}" for each in statement["subject"]} == {
        line for line in sums if "provenance" not in line
    }
    inputs = statement["predicate"]["buildDefinition"]["resolvedDependencies"]
    named = {each["name"]: each for each in inputs}
    commit = git(project, "rev-parse", "HEAD").strip()
    assert named["source"]["digest"] == {"gitCommit": commit}
    assert {"requirements.lock", "site/package-lock.json", "hatchling"} <= named.keys()
    assert named["hatchling"]["uri"].startswith("pkg:pypi/hatchling@")


def verify(project: Path, folder: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tools.provenance", str(folder)]
    return subprocess.run(
        command, cwd=project, capture_output=True, text=True, check=False, timeout=120
    )


def test_a_release_is_verified_by_building_it_again(project: Path, released: Path):
    done = verify(project, released)
    assert done.returncode == 0, done.stderr
    assert git(project, "rev-parse", "HEAD").strip() in done.stdout


def test_a_changed_file_does_not_match_its_provenance(
    project: Path, released: Path, tmp_path: Path
):
    folder = tmp_path / "dist"
    shutil.copytree(released, folder)
    wheel = folder / f"imprint_press-{VERSION}-py3-none-any.whl"
    wheel.write_bytes(wheel.read_bytes() + b"\0")
    (folder / "more.whl").touch()
    done = verify(project, folder)
    assert done.returncode == 1
    assert f"{wheel.name} has other bytes than the provenance says." in done.stderr
    assert "more.whl is not in the provenance." in done.stderr


def test_a_wheel_that_cannot_be_rebuilt_from_its_commit_is_refused(
    project: Path, released: Path, tmp_path: Path
):
    """Whoever changes a wheel can also change its statement: only a new build shows the change."""
    folder = tmp_path / "dist"
    shutil.copytree(released, folder)
    wheel = folder / f"imprint_press-{VERSION}-py3-none-any.whl"
    before = sha256(wheel.read_bytes()).hexdigest()
    wheel.write_bytes(wheel.read_bytes() + b"\0")
    statement = folder / f"imprint_press-{VERSION}.provenance.json"
    after = sha256(wheel.read_bytes()).hexdigest()
    statement.write_text(statement.read_text("utf-8").replace(before, after), "utf-8")
    done = verify(project, folder)
    assert done.returncode == 1
    assert f"{wheel.name} has other bytes if it is built from commit" in done.stderr


def test_a_provenance_with_a_wrong_lock_file_or_commit_is_refused(
    project: Path, released: Path, tmp_path: Path
):
    folder = tmp_path / "dist"
    shutil.copytree(released, folder)
    statement = folder / f"imprint_press-{VERSION}.provenance.json"
    text = statement.read_text("utf-8")
    inputs = provenance_of(released)["predicate"]["buildDefinition"]["resolvedDependencies"]
    [lock] = [one["digest"]["sha256"] for one in inputs if one["name"] == "requirements.lock"]
    statement.write_text(text.replace(lock, "0" * 64), "utf-8")
    assert "requirements.lock was not the one of commit" in verify(project, folder).stderr
    [commit] = [one["digest"]["gitCommit"] for one in inputs if one["name"] == "source"]
    statement.write_text(text.replace(commit, "0" * 40), "utf-8")
    assert verify(project, folder).returncode == 1


def test_rebuilding_gives_identical_files(project: Path, released: Path):
    first = (released / "SHA256SUMS").read_text()
    assert release(project).returncode == 0
    assert (released / "SHA256SUMS").read_text() == first


def test_a_checkout_with_uncommitted_changes_is_refused(project: Path, released: Path):
    (project / "README.md").write_text("Changed.\n")
    try:
        done = release(project)
    finally:
        git(project, "checkout", "README.md")
    assert (done.returncode, "has changes" in done.stderr) == (1, True)


def test_a_tag_must_match_the_version_and_the_commit(project: Path, released: Path):
    git(project, "tag", f"v{VERSION}")
    assert release(project).returncode == 0
    git(project, "tag", "v99.0.0")
    assert "has the tag v99.0.0" in release(project).stderr
    git(project, "tag", "--delete", "v99.0.0")
    git(project, "commit", "--quiet", "--allow-empty", "--message", "Later")
    assert f"Another commit has the tag v{VERSION}" in release(project).stderr
    git(project, "tag", "--delete", f"v{VERSION}")


def test_a_version_between_releases_is_refused(project: Path, released: Path):
    changelog = project / "CHANGELOG.md"
    text = changelog.read_text("utf-8").replace(RELEASED, UNRELEASED)
    changelog.write_text(text, "utf-8")
    package = project / "src" / "imprint" / "__init__.py"
    package.write_text(package.read_text("utf-8").replace(f'"{VERSION}"', f'"{VERSION}.dev"'))
    git(project, "commit", "--quiet", "--all", "--message", "Unreleased")
    done = release(project)
    assert done.returncode == 1
    assert f"CHANGELOG.md has no part “## [{VERSION}.dev]" in done.stderr
    assert "CHANGELOG.md has changes below “Unreleased”" in done.stderr
    assert f"The version is {VERSION}.dev: a release has no .dev." in done.stderr


def test_an_image_is_checked_before_a_release(tmp_path: Path):
    (tmp_path / "manifest.json").write_text(json.dumps([{"Config": "config.json"}]))
    config = {"User": "10001", "Entrypoint": ["imprint"], "Labels": {}}
    for labels, user, problems in (
        ({"org.opencontainers.image.version": VERSION}, "10001:10001", []),
        ({}, "10001", [f"The image is not labelled with the version {VERSION}."]),
        ({"org.opencontainers.image.version": VERSION}, "0:0", ["The image runs as root."]),
    ):
        given = {"config": config | {"Labels": labels, "User": user}}
        (tmp_path / "config.json").write_text(json.dumps(given))
        archive = tmp_path / "image.tar"
        names = ["manifest.json", "config.json"]
        subprocess.run(["tar", "cf", archive, *names], cwd=tmp_path, check=True)
        assert image_problems(archive, VERSION) == problems


def test_equal_images_give_equal_archives(tmp_path: Path):
    written = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        layer = folder / "layer.tar"
        layer.write_bytes(b"the files")
        config: dict[str, Any] = {"container": name, "container_config": {}}
        config["config"] = {"Hostname": name, "User": "10001:10001"}
        (folder / "config.json").write_text(json.dumps(config))
        manifest = {"Config": "config.json", "Layers": [layer.name], "RepoTags": ["imprint:1"]}
        (folder / "manifest.json").write_text(json.dumps([manifest]))
        archive, target = folder / "image.tar", folder / "written.tar"
        names = ["layer.tar", "config.json", "manifest.json"]
        subprocess.run(["tar", "cf", archive, *names], cwd=folder, check=True)
        write_reproducible(archive, target)
        written.append(target)
    assert written[0].read_bytes() == written[1].read_bytes()
    with tarfile.open(written[0]) as members:
        files = {name: members.extractfile(name).read() for name in members.getnames()}  # type: ignore[union-attr]
    [manifest] = json.loads(files["manifest.json"])
    encoded = files[manifest["Config"]]
    assert manifest["Config"] == f"{sha256(encoded).hexdigest()}.json"
    assert json.loads(encoded)["config"] == {"User": "10001:10001"}
    assert files["layer.tar"] == b"the files"


OWN = f"registry.example/imprint:{VERSION}@sha256:{'a' * 64}"


def test_every_image_in_the_deployment_files_is_pinned(tmp_path: Path):
    names = find_images()
    assert len(names) >= 5
    digests = {name: f"sha256:{number:064x}" for number, name in enumerate(sorted(names))}
    first, second = tmp_path / "first.tar.gz", tmp_path / "second.tar.gz"
    for archive in (first, second):
        write_deployment(archive, "1700000000", digests, OWN)
    assert first.read_bytes() == second.read_bytes()
    with tarfile.open(first) as tar:
        texts = {
            each.name: tar.extractfile(each).read().decode("utf-8", "replace")  # type: ignore[union-attr]
            for each in tar.getmembers()
        }
    for name, digest in digests.items():
        assert any(f"{name}@{digest}" in text for text in texts.values()), name
        # No file names an image by a tag alone.
        by_tag = re.compile(rf"{re.escape(name)}$", re.MULTILINE)
        assert not any(by_tag.search(text) for text in texts.values())
    assert f"${{IMAGE:-{OWN}}}" in texts["deploy/compose.yaml"]
    kustomization = texts["deploy/kubernetes/kustomization.yaml"]
    assert f"digest: sha256:{'a' * 64}" in kustomization
    assert "newTag" not in kustomization


def test_an_image_that_was_not_pushed_keeps_its_tag():
    text = (ROOT / "deploy" / "kubernetes" / "kustomization.yaml").read_text("utf-8")
    assert pin_images(text, {}) == text


def test_a_digest_is_read_from_the_registry_or_the_release_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    skopeo = tmp_path / "skopeo"
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    skopeo.write_text(f"#!/bin/sh\necho sha256:{'b' * 64}\n")
    skopeo.chmod(0o755)
    assert read_digest("registry.example/name:1") == f"sha256:{'b' * 64}"
    skopeo.write_text("#!/bin/sh\necho 'no such tag' >&2\nexit 1\n")
    with pytest.raises(NotPinned, match="no such tag"):
        read_digest("registry.example/name:1")
