"""Builds all files of a release into dist/ and checks them: `make release`."""

import argparse
import filecmp
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.distributions import (
    PREFIX,
    ROOT,
    NotBuilt,
    build,
    build_from_sdist,
    commit_epoch,
    read_version,
    read_wheel,
    sdist_problems,
    wheel_problems,
)
from tools.files import digest_file
from tools.image_archive import read_config
from tools.pinned_images import NotPinned, find_images, read_digest, write_deployment
from tools.provenance import SUMS, file_name, render_provenance, tool_problems
from tools.runtime_lock import read_project, render_requirements, runtime_entries
from tools.sbom import render_sbom, sbom_problems


class Refused(Exception):
    """This state of the project cannot be released. The message has one line per reason."""


def main() -> int:
    """Build and check a release, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="where the files go")
    parser.add_argument("--without-image", action="store_true", help="leave the image out")
    parser.add_argument("--push", metavar="NAME", help="push the image to this repository too")
    given = parser.parse_args()
    try:
        names = build_release(given.out, with_image=not given.without_image, push=given.push)
    except (Refused, NotBuilt, NotPinned) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{given.out} has a release, checked:")
    for name in names:
        print(f"  {name}")
    return 0


def build_release(out: Path, *, with_image: bool, push: str | None = None) -> list[str]:
    """Build and check all files of a release, and return their names.

    Raises `Refused`, `NotBuilt` and `NotPinned`.
    """
    version, epoch = read_version(), commit_epoch()
    _refuse(state_problems(version) + tool_problems())
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    _build_distributions(out, epoch)
    entries = runtime_entries(read_project().extras)
    (out / f"{PREFIX}-{version}-requirements.txt").write_text(render_requirements(entries), "utf-8")
    bill = render_sbom(version, epoch)
    _refuse(sbom_problems(bill, entries))
    (out / f"{PREFIX}-{version}.cdx.json").write_text(bill, "utf-8")
    image, layers = out / f"{PREFIX}-{version}-image.tar", []
    if with_image:
        own = _build_image(image, version, push)
        _write_deployment(out / f"{PREFIX}-{version}-deploy.tar.gz", epoch, own)
    if image.exists():
        # The last layer is ours; all others are those of the base.
        layers = read_config(image)["rootfs"]["diff_ids"][:-1]
    statement = render_provenance(out, version, _git("rev-parse", "HEAD"), epoch, layers)
    (out / file_name(version)).write_text(statement, "utf-8")
    return _write_sums(out)


def _write_deployment(archive: Path, epoch: str, own: str | None) -> None:
    if shutil.which("skopeo") is None:
        print("The deployment files are left out: pinning their images needs skopeo.")
        return
    write_deployment(archive, epoch, {name: read_digest(name) for name in find_images()}, own)


def state_problems(version: str) -> list[str]:
    """Return the reasons why the checkout cannot be released as this version."""
    problems = []
    if _git("status", "--porcelain"):
        problems.append("The checkout has changes: commit or remove them (git status).")
    if version.endswith(".dev"):
        problems.append(f"The version is {version}: a release has no .dev.")
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    if re.search(r"^## \[Unreleased\]\s+(?!## )\S", changelog, re.MULTILINE):
        problems.append("CHANGELOG.md has changes below “Unreleased”: give them to the release.")
    heading = rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$"
    if not re.search(heading, changelog, re.MULTILINE):
        problems.append(f"CHANGELOG.md has no part “## [{version}] - YYYY-MM-DD”.")
    tags = _git("tag", "--points-at", "HEAD", "--list", "v*").split()
    problems += [
        f"This commit has the tag {tag}, and the version is {version}."
        for tag in tags
        if tag != f"v{version}"
    ]
    if _git("tag", "--list", f"v{version}") and f"v{version}" not in tags:
        problems.append(f"Another commit has the tag v{version}: raise the version.")
    return problems


def _git(*arguments: str) -> str:
    command = ["git", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode != 0:
        raise Refused(f"git {arguments[0]} failed: {done.stderr.strip()}")
    return done.stdout.strip()


def _build_distributions(out: Path, epoch: str) -> None:
    """Build the wheel and sdist twice. Both builds must have the same bytes."""
    wheel, sdist = build(out, epoch=epoch)
    problems = wheel_problems(wheel) + sdist_problems(sdist)
    with tempfile.TemporaryDirectory() as folder:
        for first, second in zip((wheel, sdist), build(Path(folder), epoch=epoch), strict=True):
            if first.read_bytes() != second.read_bytes():
                problems.append(f"{first.name} has other bytes if it is built again.")
        unpacked = Path(folder) / "from-sdist"
        if read_wheel(build_from_sdist(sdist, unpacked, epoch=epoch)) != read_wheel(wheel):
            problems.append("The sdist gives another wheel than the checkout.")
    _refuse(problems)


def _build_image(archive: Path, version: str, push: str | None) -> str | None:
    """Build the image twice. If it was pushed, return its name and its digest in the repository."""
    script = ROOT / "tools" / "build-image"
    if shutil.which("buildah") is None or not script.exists():
        print("The image is left out: it needs buildah and tools/build-image.")
        return None
    with tempfile.TemporaryDirectory() as folder:
        again, digest = Path(folder, "image.tar"), Path(folder, "digest")
        for output in (archive, again):
            command = [
                str(script),
                "--tag",
                f"localhost/imprint:{version}",
                "--output",
                str(output),
            ]
            if subprocess.run(command, cwd=ROOT, check=False).returncode != 0:  # noqa: S603
                raise Refused("The image could not be built; tools/build-image says why.")
        if not filecmp.cmp(archive, again, shallow=False):
            raise Refused("The image has other bytes if it is built again.")
        _refuse(image_problems(archive, version))
        if push is None:
            return None
        command = [str(script), "--push", f"{push}:{version}", "--archive", str(archive)]
        command += ["--digest", str(digest)]
        if subprocess.run(command, cwd=ROOT, check=False).returncode != 0:  # noqa: S603
            raise Refused(f"The image could not be pushed to {push}.")
        return f"{push}:{version}@{digest.read_text('ascii').strip()}"


def image_problems(archive: Path, version: str) -> list[str]:
    """Check that the image names its version, does not run as root, and has a command."""
    config = read_config(archive)["config"]
    labels = config.get("Labels") or {}
    problems = []
    if labels.get("org.opencontainers.image.version") != version:
        problems.append(f"The image is not labelled with the version {version}.")
    if config.get("User", "").partition(":")[0] in ("", "0", "root"):
        problems.append("The image runs as root.")
    if not (config.get("Entrypoint") or config.get("Cmd")):
        problems.append("The image has no command.")
    return problems


def _write_sums(out: Path) -> list[str]:
    names = sorted(path.name for path in out.iterdir())
    lines = [f"{digest_file(out / name)}  {name}\n" for name in names]
    (out / SUMS).write_text("".join(lines), "utf-8")
    _refuse(sums_problems(out))
    return [*names, SUMS]


def sums_problems(out: Path) -> list[str]:
    """Return the files of a release that do not match its checksums."""
    lines = (out / SUMS).read_text("utf-8").splitlines()
    listed = {name: digest for digest, name in (line.split("  ", 1) for line in lines)}
    present = {path.name for path in out.iterdir()} - {SUMS}
    problems = [f"{name} is not there." for name in sorted(listed.keys() - present)]
    problems += [f"{name} has no checksum." for name in sorted(present - listed.keys())]
    return problems + [
        f"{name} has another checksum."
        for name in sorted(present & listed.keys())
        if digest_file(out / name) != listed[name]
    ]


def _refuse(problems: list[str]) -> None:
    if problems:
        raise Refused("\n".join(problems))


if __name__ == "__main__":
    sys.exit(main())
