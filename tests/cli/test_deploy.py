"""Tests of `imprint deploy`."""

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest
import rlp
from eth_account import Account
from tests.cli.installations import run
from tests.processes import free_port
from tests.world import World

from imprint.bootstrap.deployment import DeploymentTransaction, contract_address
from imprint.domain.formats.addresses import Address, keccak256

BROKE = "0x" + "5c" * 32
"""The key of an account without funds."""
PASSWORD = "correct horse battery staple"


@pytest.fixture
def key_file(world: World, tmp_path: Path) -> Path:
    path = tmp_path / "key"
    path.write_text(bytes(world.wallet(3).account.key).hex() + "\n")
    path.chmod(0o600)
    return path


async def deploy(world: World, *arguments: str | Path):
    environ = {"IMPRINT_CHAIN_RPC_URL": world.node.url}
    return await asyncio.to_thread(run, environ, "deploy", *arguments)


async def test_deploying_with_a_key_prints_only_the_settings_to_standard_output(
    world: World, key_file: Path
):
    result = await deploy(world, "--key-file", key_file, "--yes")
    assert result.exit_code == 0, result.output
    settings = dict(line.split("=") for line in result.stdout.splitlines())
    assert settings.keys() == {
        "IMPRINT_CHAIN_ID",
        "IMPRINT_MARKETPLACE_ADDRESS",
        "IMPRINT_CHAIN_START_BLOCK",
    }
    assert settings["IMPRINT_CHAIN_START_BLOCK"] == str(world.chain.head.number)
    assert world.chain.account(settings["IMPRINT_MARKETPLACE_ADDRESS"].lower()).code


async def test_deploying_an_adapter_prints_its_setting(world: World, key_file: Path):
    given = ("--adapter", "--marketplace", world.marketplace, "--key-file", key_file, "--yes")
    result = await deploy(world, *given)
    assert result.exit_code == 0, result.output
    name, address = result.stdout.strip().split("=")
    assert name == "IMPRINT_ADAPTER_ADDRESS"
    code = world.chain.account(address.lower()).code
    assert bytes.fromhex(world.marketplace[2:]) in code


@pytest.mark.parametrize("place", [None, "0x12", "0x" + "11" * 20])
async def test_an_adapter_needs_a_marketplace(world: World, key_file: Path, place: str | None):
    before = world.chain.head.number
    given = () if place is None else ("--marketplace", place)
    result = await deploy(world, "--adapter", *given, "--key-file", key_file, "--yes")
    assert (result.exit_code != 0, world.chain.head.number) == (True, before)


async def test_a_keystore_is_opened_with_its_password(world: World, tmp_path: Path):
    store, password = tmp_path / "keystore.json", tmp_path / "password"
    key = world.wallet(3).account.key
    store.write_text(json.dumps(Account.encrypt(key, PASSWORD, kdf="pbkdf2", iterations=2)))
    password.write_text(PASSWORD + "\n")
    given = ("--key-file", store, "--password-file", password, "--yes", "--json")
    result = await deploy(world, *given)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["IMPRINT_CHAIN_ID"] == str(world.settings.chain.id)


async def test_a_wrong_password_or_key_is_reported_without_displaying_it(
    world: World, tmp_path: Path
):
    store, password = tmp_path / "keystore.json", tmp_path / "password"
    store.write_text(json.dumps(Account.encrypt(BROKE, PASSWORD, kdf="pbkdf2", iterations=2)))
    password.write_text("wrong")
    result = await deploy(world, "--key-file", store, "--password-file", password)
    assert (result.exit_code, "with this password" in result.output) == (2, True)
    broken = tmp_path / "broken"
    broken.write_text("0x" + "5c" * 31)
    result = await deploy(world, "--key-file", broken)
    assert (result.exit_code, "64 hexadecimal digits" in result.output) == (2, True)
    assert "5c5c" not in result.output


async def test_nothing_is_sent_without_confirmation(world: World, key_file: Path):
    before = world.chain.head.number
    result = await deploy(world, "--key-file", key_file)
    assert result.exit_code == 1
    assert world.chain.head.number == before


async def test_a_key_file_readable_by_others_causes_a_warning(world: World, key_file: Path):
    os.chmod(key_file, 0o644)  # noqa: PTH101 - no call that ruff counts as blocking
    result = await deploy(world, "--key-file", key_file)
    assert "others can read" in result.stderr


async def test_an_account_without_funds_is_refused(world: World, tmp_path: Path):
    key_file = tmp_path / "broke"
    key_file.write_text(BROKE)
    result = await deploy(world, "--key-file", key_file, "--yes")
    assert (result.exit_code, "has 0 wei" in result.stderr) == (1, True)


async def test_the_transaction_can_be_printed_for_another_wallet_to_sign(world: World):
    wallet = world.wallet(3).account
    running = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "imprint", "deploy", "--from", wallet.address),
        env={**os.environ, "IMPRINT_CHAIN_RPC_URL": world.node.url},
        stdout=asyncio.subprocess.PIPE,
    )
    assert running.stdout is not None
    transaction = json.loads(await running.stdout.readline())
    assert transaction.pop("from") == wallet.address.lower()
    signed = bytes(wallet.sign_transaction(transaction).raw_transaction)
    block = world.chain.submit(signed)
    settings = (await running.stdout.read()).decode()
    assert await running.wait() == 0
    assert f"IMPRINT_CHAIN_START_BLOCK={block.number}" in settings


async def test_an_unreachable_node_is_reported_without_its_url_path():
    url = f"http://127.0.0.1:{free_port()}/private-path"
    environ = {"IMPRINT_CHAIN_RPC_URL": url}
    waiting = ("deploy", "--transaction", "0x" + "ab" * 32)
    result = await asyncio.to_thread(run, environ, *waiting)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "The node does not respond" in result.stderr
    assert "private-path" not in result.stderr


@pytest.mark.parametrize("nonce", [0, 1, 0x7F, 0x80, 0xFF, 0x100, 2**64 - 2])
def test_the_contract_address_is_derived_from_the_sender_and_nonce(nonce: int):
    sender = Address("0x" + "ab" * 20)
    prepared = DeploymentTransaction(sender, 1, 0, nonce, 0, 0, None, "0x")
    encoded = rlp.encode([bytes.fromhex(sender[2:]), nonce])
    assert contract_address(prepared) == "0x" + keccak256(encoded)[12:].hex()


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--from", "0x" + "ab" * 20, "--transaction", "0x" + "ab" * 32),
        ("--from", "0x12"),
        ("--transaction", "0x12"),
    ],
    ids=str,
)
async def test_invalid_arguments_are_refused(world: World, arguments: tuple[str, ...]):
    result = await deploy(world, *arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.output
