"""`imprint deploy` on a real node, and a service run with the settings it prints."""

import os
import subprocess
import sys
from pathlib import Path

import httpx2
from eth_account.signers.local import LocalAccount
from tests.anvil.conftest import MakeService
from tests.anvil.node import Anvil, open_account
from tests.processes import PLAIN


def test_a_service_runs_with_the_settings_printed_by_deploy(
    anvil: Anvil, make_service: MakeService, tmp_path: Path
) -> None:
    deployer: LocalAccount = open_account(7)
    key = tmp_path / "key"
    key.write_text(bytes(deployer.key).hex())
    key.chmod(0o600)
    anvil.mine(3)
    before = anvil.height
    done = subprocess.run(
        [sys.executable, "-m", "imprint", "deploy", "--key-file", key, "--yes"],
        env={**os.environ, "IMPRINT_CHAIN_RPC_URL": anvil.url},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    settings = dict(line.split("=") for line in done.stdout.splitlines())
    assert int(settings["IMPRINT_CHAIN_START_BLOCK"]) == before + 1
    given = {name.removeprefix("IMPRINT_"): value for name, value in settings.items()}
    service = make_service(**given)
    service.start()
    ready = httpx2.get(f"{service.url}/readyz", timeout=10, verify=PLAIN).json()
    assert ready["checks"]["chain"] == "ok"
    assert service.stop() == 0
