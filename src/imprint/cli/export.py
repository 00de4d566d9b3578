"""`imprint export`, `verify` and `import`: signed CAR files; `export-site`: static files."""

import asyncio
import json
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import click
import msgspec

from imprint.auth.export_keys import SEED_BYTES
from imprint.bootstrap.adapters import open_node
from imprint.bootstrap.archives import (
    build_export,
    build_import,
    open_archive,
    open_earlier_import,
)
from imprint.bootstrap.static_site import SiteFormat, write_site
from imprint.cli.errors import FAILED, reporting_errors
from imprint.cli.installation import config_option, open_installation
from imprint.cli.progress import report_progress, show_progress
from imprint.domain.errors import CannotStart
from imprint.domain.exports import Manifest, NotAnExport
from imprint.domain.formats.addresses import Address, NotAnAddress, parse_address
from imprint.domain.formats.cids import Cid, layout_of, parse_cid
from imprint.domain.formats.hexadecimal import parse_hash
from imprint.domain.installation import Access
from imprint.domain.posts.posts import LogPosition, PostCreated
from imprint.interface.codec import decode_json
from imprint.interface.posts import PROOF_TYPE, PostProof
from imprint.ports.archives import Archive, ImportOutcome
from imprint.services.installation.earlier_files import EarlierReport, Outcome
from imprint.services.installation.exports import OpenedExport, check_export, open_export
from imprint.services.posts.proofs import Claim, NotProved, verify_claim

_BASE_URL = re.compile(r"https?://[A-Za-z0-9.:\[\]-]+(/[A-Za-z0-9._~%-]+)*/?")

MAX_PROOF = 64 * 1024
"""Maximum size of a proof in bytes. A proof of this version is smaller than a kilobyte."""

_existing = click.Path(path_type=Path, exists=True, dir_okay=False)
_file_argument = click.argument("file", type=_existing)
_key_option = click.option(
    "--key", "key_text", help="The public key that must have signed it, in hexadecimal digits."
)


@click.command()
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The file to write.")
@click.option("--owner", help="Export only the files of this address; without it, all files.")
@config_option
def export(out: Path, owner: str | None, config: Path | None) -> None:
    """Write drafts, posts and thumbnails to a CAR file.

    The service may keep running: the export contains the files as they were when it began. It
    includes drafts, so keep it private. `imprint verify` verifies an export, and `imprint import`
    imports it elsewhere.
    """
    with reporting_errors():
        manifest, key = asyncio.run(_export(out, _parse_address(owner, "--owner"), config))
    click.echo(f"{manifest.files} files are in {out}.")
    click.echo(f"They are signed by the key {key.hex()}")
    click.echo(f"To verify them: imprint verify {out} --key {key.hex()}")


async def _export(out: Path, owner: Address | None, config: Path | None) -> tuple[Manifest, bytes]:
    async with open_installation(config, Access.WRITE) as installation:
        service = build_export(installation.settings, installation.adapters)
        with (
            _new_file(out) as file,
            tempfile.TemporaryFile(dir=out.parent) as spool,
            show_progress("Exporting files") as progress,
        ):
            manifest = await service.run(owner, spool, file.write, progress)
        return manifest, service.key.public


@click.command("export-site")
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="The folder to write: a new or empty one, or that of an earlier export.",
)
@click.option(
    "--base-url", "base", required=True, help="The URL at which the files will be published."
)
@click.option(
    "--format",
    "site_format",
    type=click.Choice([each.value for each in SiteFormat]),
    default=SiteFormat.HTML.value,
    show_default=True,
    help="HTML pages, or Markdown with front matter for site generators.",
)
@config_option
def export_site(output: Path, base: str, site_format: str, config: Path | None) -> None:
    """Write the public site as static files.

    Any file server can publish them, with or without the service. Paid posts appear with their
    opening, their price and a link to the service, but without their text. Only posts that appear
    in lists are included. The service may keep running: the files show the site as it was when the
    command began. The chain must be reachable, because it decides which posts are free. Exporting
    the same posts again produces identical files. An earlier export is replaced in one step when
    the new one is complete.
    """
    base = _parse_base(base)
    with reporting_errors():
        count = asyncio.run(_export_site(output, base, SiteFormat(site_format), config))
    click.echo(f"{count} posts are in {output}.")


async def _export_site(
    output: Path, base: str, site_format: SiteFormat, config: Path | None
) -> int:
    async with open_installation(config, Access.WRITE) as installation:
        with show_progress("Exporting posts") as progress:
            return await write_site(
                installation.settings,
                installation.adapters,
                base,
                output,
                site_format,
                progress=progress,
                report=report_progress,
            )


@click.command()
@click.argument("file", type=_existing, required=False)
@_key_option
@click.option("--proof", type=_existing, help="Verify the proof of a post instead.")
@click.option("--rpc", help="The URL of any node of the proof's chain.")
@click.option("--document", type=_existing, help="The document that the proof must be of.")
@click.option("--marketplace", help="The contract that must have recorded the post.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def verify(
    file: Path | None,
    key_text: str | None,
    *,
    proof: Path | None,
    rpc: str | None,
    document: Path | None,
    marketplace: str | None,
    as_json: bool,
) -> None:
    """Verify an export, or the proof of a post.

    For an export, the command checks the signature, every block, every document and every record.
    This needs no service, no network and no settings. Without a key, it only shows who signed the
    export. A proof is the file at /posts/{id}/proof.json. It is compared with the chain through the
    node named by --rpc, and with a document if one is given. Anybody can deploy a contract that
    records posts: --marketplace names the one that you trust.
    """
    if proof is not None:
        if rpc is None or file is not None or key_text is not None:
            raise click.UsageError("--proof needs --rpc, and neither an export nor --key.")
        contract = _parse_address(marketplace, "--marketplace")
        _verify_proof(proof, rpc, document, contract, as_json=as_json)
    elif file is None or any(option is not None for option in (rpc, document, marketplace)):
        raise click.UsageError("Give an export, or --proof and --rpc.")
    else:
        _verify_export(file, _parse_key(key_text), as_json)


def _verify_export(file: Path, key: bytes | None, as_json: bool) -> None:
    with reporting_errors():
        try:
            opened = _verify(file, key)
        except NotAnExport as error:
            if not as_json:
                raise
            click.echo(json.dumps({"whole": False, "reason": str(error)}, indent=2))
            sys.exit(FAILED)
    manifest = opened.manifest
    if as_json:
        click.echo(json.dumps({"whole": True, **_members_of(opened)}, indent=2))
        return
    made_at = f"{manifest.made_at:%Y-%m-%d %H:%M:%S}Z"
    click.echo(f"The export is complete: {manifest.files} files, as of {made_at}.")
    click.echo(f"Chain {manifest.chain_id}, marketplace {manifest.marketplace}.")
    click.echo(f"Signed by the key {opened.key.hex()}")
    if key is None:
        click.echo("To check that it is the key you expect, pass that key with --key.")


def _verify(file: Path, key: bytes | None) -> OpenedExport:
    with _open_archive(file) as archive:
        opened = open_export(archive, key)
        with show_progress("Checking files") as progress:
            unproved = check_export(archive, opened, progress)
        if unproved:
            click.echo(
                f"{unproved} corrections are signed by contracts, which only the chain can verify.",
                err=True,
            )
        return opened


def _members_of(opened: OpenedExport) -> dict[str, Any]:
    manifest = opened.manifest
    return {
        "files": manifest.files,
        "revisions": manifest.revisions,
        "made_at": manifest.made_at.isoformat(),
        "chain_id": manifest.chain_id,
        "marketplace": manifest.marketplace,
        "key": opened.key.hex(),
    }


def _verify_proof(
    file: Path, rpc: str, document: Path | None, contract: Address | None, *, as_json: bool
) -> None:
    with reporting_errors():
        try:
            claim = _read_claim(file)
            if contract not in (None, claim.contract):
                raise NotProved(f"The proof is of another contract: {claim.contract}.")
            event, cid = claim.event, Cid(claim.event.spelled_cid)
            if document is not None and layout_of(cid, document.read_bytes()) is None:
                raise NotProved("The document is another one than that of the proof.")
            following = asyncio.run(_compare_with_chain(claim, rpc))
        except NotProved as error:
            if not as_json:
                raise
            click.echo(json.dumps({"proved": False, "reason": str(error)}, indent=2))
            sys.exit(FAILED)
    if as_json:
        shown = {
            "proved": True,
            "chain_id": event.place.chain_id,
            "marketplace": claim.contract,
            "following_blocks": following,
            "document": document is not None,
        }
        click.echo(json.dumps(shown, indent=2))
        return
    place = event.place
    click.echo(f"The chain confirms it: {event.author} published {cid}")
    click.echo(
        f"as post {event.post_id} of the contract {claim.contract}, at "
        f"{claim.created_at:%Y-%m-%d %H:%M:%S}Z, in block {place.block_number} of chain "
        f"{place.chain_id}. {following} blocks follow it."
    )
    if contract is None:
        click.echo("To check that it is the contract you expect, pass that one with --marketplace.")
    if document is not None:
        click.echo(f"{document} is this document.")


def _read_claim(file: Path) -> Claim:
    """Parse a proof. Raises `NotProved` for anything that the service would not write."""
    with file.open("rb") as opened:
        text = opened.read(MAX_PROOF + 1)
    try:
        proof = decode_json(text[:MAX_PROOF], PostProof)
        if proof.type != PROOF_TYPE or not 0 <= int(proof.id) < 2**256:
            raise ValueError("It is of another type, or the id is too high.")
        block, cid = proof.block, parse_cid(proof.cid)
        place = LogPosition(
            proof.chain_id,
            parse_hash(block.hash),
            block.number,
            proof.log.index,
            parse_hash(proof.transaction),
        )
        event = PostCreated(place, int(proof.id), parse_address(proof.author), cid, cid)
        topics = tuple(bytes.fromhex(parse_hash(topic)[2:]) for topic in proof.log.topics)
        return Claim(parse_address(proof.log.address), event, topics, proof.created_at)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise NotProved("This is not the proof of a post, or is one of a newer version.") from error


async def _compare_with_chain(claim: Claim, rpc: str) -> int:
    async with open_node(rpc, claim.event.place.chain_id, claim.contract) as chain:
        return await verify_claim(chain, claim)


@click.command("import")
@_file_argument
@_key_option
@config_option
def import_(file: Path, key_text: str | None, config: Path | None) -> None:
    """Import the files of an export.

    An export contains drafts, posts, hashtags and thumbnails. The whole export is checked first,
    and nothing is written if it contradicts existing records. Existing files are left as they are,
    so that an interrupted import can be run again.
    """
    key = _parse_key(key_text)
    with reporting_errors():
        counts = asyncio.run(_import(file, key, config))
    click.echo(f"{counts[ImportOutcome.ADDED]} files were imported.")
    if counts[ImportOutcome.PRESENT]:
        click.echo(f"{counts[ImportOutcome.PRESENT]} were already here and stay unchanged.")
    if counts[ImportOutcome.RETIRED]:
        retired = counts[ImportOutcome.RETIRED]
        click.echo(f"{retired} have since been replaced, deleted, erased or withheld here.")
    click.echo("The follower will confirm the posts; `imprint reconcile` does so at once.")


async def _import(file: Path, key: bytes | None, config: Path | None) -> Counter[ImportOutcome]:
    async with open_installation(config, Access.CREATE) as installation:
        service = build_import(installation.settings, installation.adapters)
        with _open_archive(file) as archive:
            opened = open_export(archive, key)
            service.check_marketplace(opened)
            with show_progress("Checking files") as progress:
                check_export(archive, opened, progress)
            with show_progress("Importing files") as progress:
                return await service.run(archive, opened, progress)


@click.command("import-pinata")
@config_option
def import_pinata(config: Path | None) -> None:
    """Import drafts and posts that InkDAO stored on Pinata.

    The command only reads the account of IMPRINT_PINATA_JWT and IMPRINT_PINATA_GATEWAY. Every file
    keeps its bytes and its cid. Files that the chain names as posts of their owner become posts,
    and all others become drafts. Existing files are skipped, so that an interrupted import can be
    run again. Files that are not imported are listed.
    """
    with reporting_errors():
        report = asyncio.run(_import_pinata(config))
    counts = report.counts
    click.echo(f"{counts[Outcome.POST]} posts and {counts[Outcome.DRAFT]} drafts were imported.")
    if report.left_out:
        click.echo(f"{len(report.left_out)} files were not:")
    for cid, reason in report.left_out:
        # A cid comes from the account, so it is escaped.
        click.echo(f"  {ascii(cid)[1:-1]}  {reason}")


async def _import_pinata(config: Path | None) -> EarlierReport:
    async with (
        open_installation(config, Access.CREATE) as installation,
        open_earlier_import(installation.settings, installation.adapters) as service,
    ):
        with show_progress("Importing files") as progress:
            return await service.run(progress)


def _parse_address(text: str | None, option: str) -> Address | None:
    if text is None:
        return None
    try:
        return parse_address(text)
    except NotAnAddress as error:
        raise click.BadParameter(str(error), param_hint=option) from error


def _parse_base(text: str) -> str:
    if not _BASE_URL.fullmatch(text):
        raise click.BadParameter(
            "It must be a URL like https://example.org or https://example.org/blog.",
            param_hint="--base-url",
        )
    return text.rstrip("/")


def _parse_key(text: str | None) -> bytes | None:
    if text is None:
        return None
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != SEED_BYTES:
        raise click.BadParameter("A key must be 64 hexadecimal digits.", param_hint="--key")
    return key


@contextmanager
def _open_archive(file: Path) -> Iterator[Archive]:
    """Open the archive after reading the whole file once, with a progress bar."""
    with ExitStack() as bar:
        progress = bar.enter_context(show_progress("Reading bytes"))
        with open_archive(file, progress) as archive:
            # Only one bar can be shown at a time.
            bar.close()
            yield archive


@contextmanager
def _new_file(path: Path) -> Iterator[BinaryIO]:
    """A file that only its owner can read, which appears under its name when it is complete."""
    partial = path.with_name(path.name + ".partial")
    try:
        if path.exists():
            raise CannotStart(f"{path} already exists.")
        partial.unlink(missing_ok=True)
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise CannotStart(f"{path} cannot be written: {error.strerror}.") from error
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.rename(path)
    finally:
        partial.unlink(missing_ok=True)
