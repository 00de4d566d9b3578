"""The package that npm packs can be installed alone, used in Node, and bundled."""

import gzip
import os
import re
import subprocess
from pathlib import Path

import pytest
from tests.processes import Service

PACKAGE = Path(__file__).parents[2] / "clients" / "typescript"
KIBIBYTE = 1024
READER_PAGE = "export { ImprintReader, buyPostCall, findReceipt } from 'imprint-press';"
WHOLE = "export { Imprint, buyPostCall, findReceipt } from 'imprint-press';"


def run(*command: str, cwd: Path) -> str:
    """Run a command and return its output. If it fails, fail with the whole output."""
    quiet = {**os.environ, "npm_config_loglevel": "error"}
    done = subprocess.run(
        command, cwd=cwd, env=quiet, capture_output=True, text=True, timeout=100, check=False
    )
    if done.returncode:
        pytest.fail(f"{done.stdout}\n{done.stderr}", pytrace=False)
    return done.stdout


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty project with the package installed from its archive."""
    home = tmp_path_factory.mktemp("project")
    pack = ("npm", "pack", "--ignore-scripts", "--silent", "--pack-destination", str(home))
    archive = run(*pack, cwd=PACKAGE).split()[-1]
    (home / "package.json").write_text('{"type": "module", "private": true}', encoding="utf-8")
    run("npm", "install", "--prefer-offline", "--no-audit", "--no-fund", f"./{archive}", cwd=home)
    return home


def test_the_package_contains_its_modules_and_types_but_no_tests(project: Path) -> None:
    installed = project / "node_modules" / "imprint-press"
    names = {path.name for path in installed.rglob("*") if path.is_file()}
    assert {"index.js", "index.d.ts", "README.md", "LICENSE", "package.json"} <= names
    assert not [name for name in names if ".test." in name]


def test_the_example_in_the_readme_runs_in_node(project: Path, service: Service) -> None:
    readme = (PACKAGE / "README.md").read_text(encoding="utf-8")
    found = re.search(r"```js\n(.*?)```", readme, re.DOTALL)
    assert found
    example = found[1].replace("http://127.0.0.1:8000", service.url)
    (project / "example.js").write_text(example, encoding="utf-8")
    said = run("node", "example.js", cwd=project).splitlines()
    assert re.fullmatch(r"bafk\w+ \d+", said[0])
    assert said[1].endswith(".")


@pytest.mark.parametrize(
    ("code", "most"),
    [
        pytest.param(READER_PAGE, 10 * KIBIBYTE, id="reader"),
        pytest.param(WHOLE, 16 * KIBIBYTE, id="whole"),
    ],
)
def test_the_browser_bundle_stays_small(project: Path, code: str, most: int) -> None:
    (project / "page.js").write_text(code, encoding="utf-8")
    esbuild = str(PACKAGE / "node_modules" / ".bin" / "esbuild")
    flags = ("--bundle", "--minify", "--format=esm", "--platform=browser", "--log-level=error")
    bundle = run(esbuild, "page.js", *flags, cwd=project).encode()
    assert len(gzip.compress(bundle, 9)) < most
