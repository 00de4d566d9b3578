"""`imprint deploy`, `imprint contract`: deploy the contracts, or print ABI and bytecode."""

import asyncio
import json
import stat
from pathlib import Path

import click

from imprint.bootstrap.deployment import (
    ContractDeployment,
    DeployedContract,
    DeploymentTransaction,
    NotDeployed,
    Signer,
    contract_address,
    open_deployment,
    read_signer,
)
from imprint.cli.errors import reporting_errors
from imprint.domain.formats.addresses import Address, NotAnAddress, checksum_address, parse_address
from imprint.domain.formats.hexadecimal import NotHexadecimal, parse_hash
from imprint.marketplace import adapter_artifact, artifact

WEI_PER_COIN = 10**18

_file = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command()
@click.option(
    "--rpc-url",
    envvar="IMPRINT_CHAIN_RPC_URL",
    required=True,
    help="The URL of a node of the chain [env: IMPRINT_CHAIN_RPC_URL].",
)
@click.option("--key-file", type=_file, help="A private key in hexadecimal, or a keystore.")
@click.option(
    "--password-file",
    type=_file,
    help="A file with the keystore's password; without it, you are asked for it.",
)
@click.option("--from", "sender", help="Print the transaction for this account to sign.")
@click.option("--transaction", help="Wait for a transaction that was already sent.")
@click.option("--adapter", is_flag=True, help="Deploy the purchase adapter of a marketplace.")
@click.option(
    "--marketplace",
    envvar="IMPRINT_MARKETPLACE_ADDRESS",
    help="The adapter's marketplace [env: IMPRINT_MARKETPLACE_ADDRESS].",
)
@click.option("--yes", is_flag=True, help="Deploy without asking for confirmation.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of settings.")
def deploy(
    *,
    rpc_url: str,
    key_file: Path | None,
    password_file: Path | None,
    sender: str | None,
    transaction: str | None,
    adapter: bool,
    marketplace: str | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Deploy the marketplace or its adapter.

    Prints the settings that name the contract. With --key-file, the command signs and sends the
    transaction. With --from, it prints the transaction as a line of JSON for another wallet to sign
    and send, and waits for the contract. With --transaction, it waits for a transaction that was
    already sent. The transaction and the settings go to standard output, everything else to
    standard error.

    With --adapter, it deploys the contract that buys posts of an existing marketplace for somebody
    else, or several posts at once.
    """
    if [key_file, sender, transaction].count(None) != 2:
        raise click.UsageError("Give exactly one of --key-file, --from and --transaction.")
    market = _parse_marketplace(marketplace) if adapter and transaction is None else None
    # The setting may list several nodes.
    url = rpc_url.partition(",")[0].strip()
    with reporting_errors():
        if key_file is not None:
            signer = read_signer(_read_key(key_file), lambda: _password(password_file))
            deploying = _deploy(url, market, signer, yes)
        elif sender is not None:
            deploying = _deploy_unsigned(url, market, _parse_sender(sender))
        else:
            deploying = _await(url, _parse_hash(transaction))
        try:
            deployed = asyncio.run(deploying)
        except NotDeployed as error:
            raise click.ClickException(str(error)) from error
    _print_settings(deployed, as_json, adapter)


async def _deploy(url: str, market: Address | None, signer: Signer, yes: bool) -> DeployedContract:
    async with open_deployment(url) as deployment:
        prepared = await _prepare(deployment, market, signer.address)
        _describe(prepared)
        if not yes:
            what = "marketplace" if market is None else "purchase adapter"
            click.confirm(f"Deploy the {what}?", abort=True, err=True)
        signed, transaction_hash = signer.sign(prepared)
        await deployment.send(signed, transaction_hash)
        return await _wait(deployment, transaction_hash)


async def _deploy_unsigned(url: str, market: Address | None, sender: Address) -> DeployedContract:
    async with open_deployment(url) as deployment:
        prepared = await _prepare(deployment, market, sender)
        address = contract_address(prepared)
        _describe(prepared)
        click.echo(json.dumps({"from": sender, **prepared.fields()}))
        _say(f"Sign and send it. Waiting for a contract at {checksum_address(address)} …")
        _say("If you stop here, continue with --transaction and its hash instead of --from.")
        return await deployment.wait_for_code(prepared, address)


async def _prepare(
    deployment: ContractDeployment, market: Address | None, sender: Address
) -> DeploymentTransaction:
    """Prepare the deployment of the marketplace, or of an adapter for this marketplace."""
    if market is None:
        return await deployment.prepare(sender, artifact().bytecode)
    await deployment.check_contract(market)
    return await deployment.prepare(sender, adapter_artifact().bytecode + market[2:].zfill(64))


async def _await(url: str, transaction_hash: str) -> DeployedContract:
    async with open_deployment(url) as deployment:
        # If the node is the wrong one, the wait would never end.
        await deployment.check_node()
        return await _wait(deployment, transaction_hash)


async def _wait(deployment: ContractDeployment, transaction_hash: str) -> DeployedContract:
    _say(f"Waiting for the transaction {transaction_hash} …")
    _say("If you stop here, continue with --transaction and this hash instead of --key-file.")
    return await deployment.wait(transaction_hash)


def _read_key(path: Path) -> str:
    if path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
        click.secho(f"Warning: others can read {path}.", fg="yellow", err=True)
    return path.read_text("utf-8", "replace")


def _password(path: Path | None) -> str:
    if path is not None:
        return path.read_text("utf-8").rstrip("\r\n")
    password: str = click.prompt("Password of the keystore", hide_input=True, err=True)
    return password


def _parse_sender(text: str) -> Address:
    return _parse_address(text, "--from")


def _parse_marketplace(text: str | None) -> Address:
    if not text:
        raise click.UsageError("Give the address of the adapter's marketplace with --marketplace.")
    return _parse_address(text, "--marketplace")


def _parse_address(text: str, option: str) -> Address:
    try:
        return parse_address(text)
    except NotAnAddress as error:
        raise click.BadParameter(str(error), param_hint=option) from error


def _parse_hash(text: str | None) -> str:
    try:
        return parse_hash(text)
    except NotHexadecimal as error:
        raise click.BadParameter(str(error), param_hint="--transaction") from error


def _describe(prepared: DeploymentTransaction) -> None:
    _say(f"Chain      {prepared.chain_id}")
    _say(f"Account    {checksum_address(prepared.sender)}, nonce {prepared.nonce}")
    _say(f"Cost       at most {prepared.highest_cost / WEI_PER_COIN:.6f} of the chain's coin")


def _print_settings(deployed: DeployedContract, as_json: bool, adapter: bool) -> None:
    if adapter:
        settings = {"IMPRINT_ADAPTER_ADDRESS": checksum_address(deployed.address)}
        _say("The purchase adapter is deployed. Its setting:")
    else:
        settings = {
            "IMPRINT_CHAIN_ID": str(deployed.chain_id),
            "IMPRINT_MARKETPLACE_ADDRESS": checksum_address(deployed.address),
            "IMPRINT_CHAIN_START_BLOCK": str(deployed.block),
        }
        _say("The marketplace is deployed. Its settings, besides IMPRINT_CHAIN_RPC_URL:")
    if as_json:
        click.echo(json.dumps(settings))
    else:
        for name, value in settings.items():
            click.echo(f"{name}={value}")


def _say(sentence: str) -> None:
    click.echo(sentence, err=True)


@click.command()
def contract() -> None:
    """Print the contract's ABI and bytecode as JSON."""
    built = artifact()
    click.echo(json.dumps({"abi": built.abi, "bytecode": built.bytecode}))
