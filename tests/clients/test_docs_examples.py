"""The TypeScript examples on the docs page match the client, and one can sign curl commands."""

import json
import os
import subprocess
from pathlib import Path

from tests.processes import Service
from tests.web.described import DOCUMENT
from tools.files import ROOT

from imprint.web.docs.examples import SERVICE
from imprint.web.docs.openapi import CURL_SIGNING
from imprint.web.docs.page.client_examples import typescript_example
from imprint.web.docs.page.commands import curl_command, is_delivery

CLIENT = ROOT / "clients" / "typescript"
OPTIONS = {
    "target": "es2022",
    "module": "esnext",
    "moduleResolution": "bundler",
    "lib": ["es2023", "dom", "dom.iterable"],
    "types": ["node"],
    "typeRoots": [str(CLIENT / "node_modules" / "@types")],
    "strict": True,
    "skipLibCheck": True,
    "noEmit": True,
    "paths": {
        "imprint-press": [str(CLIENT / "src" / "index.ts")],
        "viem/*": [str(CLIENT / "node_modules" / "viem" / "*")],
    },
}


def test_every_typescript_example_passes_the_type_check(tmp_path: Path) -> None:
    operations = [
        operation
        for methods in DOCUMENT["paths"].values()
        for operation in methods.values()
        if "x-alias-of" not in operation and not is_delivery(operation)
    ]
    assert operations
    for operation in operations:
        path = tmp_path / f"{operation['operationId']}.ts"
        path.write_text(typescript_example(operation))
    project = {"compilerOptions": OPTIONS, "include": ["*.ts"]}
    (tmp_path / "tsconfig.json").write_text(json.dumps(project))
    compiler = CLIENT / "node_modules" / ".bin" / "tsc"
    done = subprocess.run([compiler, "-p", tmp_path], capture_output=True, text=True, check=False)
    assert done.stdout == ""
    assert done.returncode == 0


def test_the_signing_example_works_with_a_curl_command(tmp_path: Path, service: Service) -> None:
    _, module = CURL_SIGNING
    (tmp_path / "sign.mjs").write_text(module.replace(SERVICE, service.url))
    # The module resolves packages like the tests of the clients do.
    (tmp_path / "node_modules").symlink_to(Path(__file__).parent / "node_modules")
    path = "/create/group"
    command = curl_command("post", path, DOCUMENT["paths"][path]["post"])
    key = "0x" + "5e" * 32
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", f'eval "$(node sign.mjs)"\n{command} --silent'],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "BASE": service.url, "PRIVATE_KEY": key},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["updatedUpload"]["keyvalues"]["status"] == "pending"
