"""The TypeScript examples of the docs page fit the types of the client."""

import json
import subprocess
from pathlib import Path

from tests.house.sources import ROOT
from tests.web.described import DOCUMENT

from imprint.web.docs.client_examples import has_client, typescript_example

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
        if "x-alias-of" not in operation and has_client(operation)
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
