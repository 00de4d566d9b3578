"""Tests of `imprint check`."""

import asyncio
import json
import secrets
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta

import httpx2
import pytest
from click.testing import Result
from tests.cli.installations import environment_beside, environment_of, run
from tests.contract_wallets import deploy_on
from tests.world import MovableClock, World, open_world

from imprint import __version__
from imprint.adapters.disk_space import LocalDiskSpace
from imprint.domain.drafts.files import Network
from imprint.domain.formats.addresses import keccak256
from imprint.domain.formats.cids import Cid
from imprint.domain.posts.marketplace import EARLIER_FUNCTIONS
from imprint.domain.posts.posts import Advance, BlockRef

WEBHOOK_SECRET = "5f0c1b7a93e84d26a1f47c3b9e60d815"
SUBJECTS = [
    *("settings", "signing", "database", "records", "keys", "disk", "store", "documents", "node"),
    *("contract", "blocks", "clock", "webhooks"),
]
KEY, OTHER_KEY = (secrets.token_hex(32) for _ in range(2))
ENCRYPTED = {"ENCRYPTION": "on", "ENCRYPTION_KEY": KEY}
GOOD = {
    "WEBHOOK_A_SECRET": WEBHOOK_SECRET,
    "WEBHOOK_B_SECRET": WEBHOOK_SECRET[::-1],
    "WEBHOOK_NETWORKS": "my-network",
    "SIGNING_NAME": "A name of its own",
}


async def run_check(world: World, *options: str, **given: str) -> Result:
    environ = environment_beside(world) | {f"IMPRINT_{name}": text for name, text in given.items()}
    return await asyncio.to_thread(run, environ, "check", *options)


def marks_of(output: str) -> dict[str, str]:
    lines = [line.split() for line in output.splitlines() if not line.startswith(" ")]
    return {line[1]: line[0] for line in lines}


async def check(world: World, *options: str, **given: str) -> tuple[int, dict[str, str]]:
    """Return the exit status, and the mark that each check printed, such as ✓."""
    result = await run_check(world, *options, **given)
    return result.exit_code, marks_of(result.output)


async def find(world: World, name: str, **given: str) -> dict[str, str]:
    """Return the finding of one check."""
    report = json.loads((await run_check(world, "--json", **given)).stdout)
    return next(each for each in report["checks"] if each["name"] == name)


async def test_a_healthy_installation_passes_every_check(world: World):
    assert await check(world, **GOOD) == (0, dict.fromkeys(SUBJECTS, "✓"))


async def test_the_output_fits_a_terminal_of_80_columns(world: World):
    for given in (GOOD, {"CHAIN_START_BLOCK": "999999"}, {"MIN_FREE_DISK_BYTES": str(2**53)}):
        lines = (await run_check(world, **given)).output.splitlines()
        # A path is not broken.
        assert [line for line in lines if len(line) > 80 and " " in line[13:].strip()] == []


async def test_the_json_report_is_a_single_object(world: World):
    result = await run_check(world, "--json", **GOOD)
    report = json.loads(result.stdout)
    assert (report["ok"], report["version"]) == (True, __version__)
    assert [each["name"] for each in report["checks"]] == SUBJECTS
    assert {each["status"] for each in report["checks"]} == {"ok"}
    assert all(each.keys() == {"name", "status", "detail", "remedy"} for each in report["checks"])


def test_a_report_lists_all_problems_with_the_publication_settings(tmp_path):
    wrong = {
        "IMPRINT_PUBLICATION_ACCENT": "#ffff00",
        "IMPRINT_PUBLICATION_LOGO": str(tmp_path / "nothing.png"),
        "IMPRINT_PUBLICATION_PAGES": str(tmp_path / "nowhere"),
    }
    result = run(environment_of(tmp_path) | wrong, "check", "--json")
    assert result.exit_code == 2
    details = [each["detail"] for each in json.loads(result.stdout)["checks"]]
    assert sorted(each.split()[0] for each in details) == sorted(wrong)


def test_a_report_names_the_invalid_settings(tmp_path):
    environ = environment_of(tmp_path) | {"IMPRINT_CHAIN_ID": "none", "IMPRINT_WORKERS": "0"}
    result = run(environ, "check", "--json")
    assert result.exit_code == 2
    report = json.loads(result.stdout)
    assert not report["ok"]
    assert [each["name"] for each in report["checks"]] == ["settings", "settings"]


async def test_the_default_signing_name_is_a_warning(world: World):
    found = await find(world, "signing")
    assert found["status"] == "warning"
    assert "IMPRINT_SIGNING_NAME is 'Imprint', the default" in found["detail"]
    assert "accepts signatures made for this one in the forms imprint-1" in found["detail"]
    assert "Signatures in the form imprint-2 name the service" in found["detail"]


async def test_the_default_signing_name_is_ok_if_bound_signatures_are_required(world: World):
    found = await find(world, "signing", REQUIRE_BOUND_SIGNATURES="on")
    assert found["status"] == "ok"


async def test_the_signing_name_of_the_legacy_service_is_a_warning(world: World):
    given = {"SIGNING_NAME": "Quill", "COMPATIBILITY": "inkdao"}
    found = await find(world, "signing", **given)
    assert found["status"] == "warning"
    assert "whatever IMPRINT_SIGNING_NAME is" in found["detail"]
    assert (await find(world, "signing", SIGNING_NAME="Quill"))["status"] == "ok"
    bound = await find(world, "signing", **given, REQUIRE_BOUND_SIGNATURES="on")
    assert bound["status"] == "ok"


@pytest.mark.parametrize("given", [{"ENCRYPTION": "on", "ENCRYPTION_KEY": OTHER_KEY}, {}])
async def test_a_master_key_that_cannot_decrypt_the_documents_fails_the_command(
    tmp_path, given: dict[str, str]
):
    async with open_world(tmp_path, **ENCRYPTED) as world:
        await world.create(world.wallet(1))
        assert (await check(world, **ENCRYPTED))[1]["keys"] == "✓"
        status, marks = await check(world, **given)
        assert (status, marks["keys"]) == (1, "✗")
        assert "imprint rotate-key" in (await find(world, "keys", **given))["remedy"]


async def test_a_start_block_in_the_future_fails_the_command(world: World):
    found = await find(world, "blocks", CHAIN_START_BLOCK="999999")
    assert found["status"] == "failed"
    assert "IMPRINT_CHAIN_START_BLOCK is 999999, but the newest block" in found["detail"]
    assert (await check(world, CHAIN_START_BLOCK="999999"))[0] == 1


async def test_insufficient_disk_space_fails_the_command(world: World):
    found = await find(world, "disk", MIN_FREE_DISK_BYTES=str(2**50))
    assert found["status"] == "failed"
    assert (
        "drafts are accepted while at least 1048576.0 GiB are: drafts are refused now"
        in found["detail"]
    )


async def test_a_nearly_full_disk_is_a_warning(world: World):
    free = LocalDiskSpace([world.settings.storage.data_dir], 0).free_bytes()
    assert free is not None
    assert (await find(world, "disk", MIN_FREE_DISK_BYTES=str(free // 2)))["status"] == "warning"


async def test_checks_that_need_no_database_run_without_one(world: World):
    nowhere = "postgresql://someone:a-long-password@127.0.0.1:1/nowhere"
    result = await run_check(world, DATABASE_URL=nowhere, **GOOD)
    assert result.exit_code == 1
    assert "a-long-password" not in result.output
    assert "no server accepts connections there (postgresql://127.0.0.1:1/nowhere)" in " ".join(
        result.output.split()
    )
    needing = dict.fromkeys(("records", "keys", "documents", "blocks"), "-")
    assert marks_of(result.output) == dict.fromkeys(SUBJECTS, "✓") | needing | {"database": "✗"}


async def test_an_unreachable_store_is_reported_with_the_reason(world: World):
    away = {"CONTENT_STORE": "kubo:http://127.0.0.1:1", "ENCRYPTION_KEY": KEY}
    store = await find(world, "store", **away)
    assert store["status"] == "failed"
    assert "cannot be reached right now: " in store["detail"]
    assert store["detail"].endswith(". (kubo:http://127.0.0.1:1)")
    assert "whether it is running" in store["remedy"]


async def test_a_warning_does_not_fail_the_command(world: World):
    status, marks = await check(world)
    assert (status, marks["webhooks"]) == (0, "!")


async def test_a_chain_without_a_registered_network_name_is_a_warning(world: World):
    status, marks = await check(world, WEBHOOK_A_SECRET=WEBHOOK_SECRET)
    assert (status, marks["webhooks"]) == (0, "!")
    status, marks = await check(
        world, WEBHOOK_A_SECRET=WEBHOOK_SECRET, WEBHOOK_NETWORKS="my-network"
    )
    assert (status, marks["webhooks"]) == (0, "✓")


async def test_check_fails_if_neither_webhooks_nor_a_follower_are_configured(world: World):
    status, marks = await check(world, CHAIN_FOLLOW_SECONDS="0")
    assert (status, marks["webhooks"]) == (1, "✗")


@pytest.mark.parametrize(
    ("name", "text", "subject"),
    [
        ("CHAIN_ID", "1", "node"),
        ("MARKETPLACE_ADDRESS", "0x" + "11" * 20, "contract"),
        ("ADAPTER_ADDRESS", "0x" + "11" * 20, "contract"),
    ],
)
async def test_a_chain_other_than_the_configured_one_fails_the_command(
    world: World, name: str, text: str, subject: str
):
    status, marks = await check(world, **{name: text})
    assert (status, marks[subject]) == (1, "✗")


def returning(code: bytes, before: bytes = b"") -> bytes:
    """Return creation code that runs `before` and then deploys `code`."""
    start = len(before) + 13
    copy = b"\x61" + len(code).to_bytes(2) + b"\x80\x61" + start.to_bytes(2)
    return before + copy + bytes.fromhex("600039" + "6000f3") + code


async def deployed_code(world: World) -> bytes:
    asked = {"jsonrpc": "2.0", "id": 1, "method": "eth_getCode"}
    async with httpx2.AsyncClient() as client:
        response = await client.post(
            world.node.url, json=asked | {"params": [world.marketplace, "latest"]}
        )
    return bytes.fromhex(response.json()["result"][2:])


async def test_legacy_compatibility_needs_the_functions_that_the_front_end_calls(world: World):
    finding = await find(world, "contract", COMPATIBILITY="inkdao")
    assert finding["status"] == "failed"
    assert "createPost((string,string,string,string,uint256)), getAllPosts()" in finding["detail"]
    assert (await find(world, "contract"))["status"] == "ok"
    selectors = b"".join(b"\x63" + each for each in EARLIER_FUNCTIONS.values())
    code = await deployed_code(world) + selectors
    fit = deploy_on(world.chain, returning(code))
    given = {"COMPATIBILITY": "inkdao", "MARKETPLACE_ADDRESS": fit}
    assert (await find(world, "contract", **given))["status"] == "ok"


async def test_the_required_functions_are_also_found_behind_a_proxy(world: World):
    selectors = b"".join(b"\x63" + each for each in EARLIER_FUNCTIONS.values())
    implementation = deploy_on(world.chain, returning(b"\0" + selectors))
    slot = int.from_bytes(keccak256(b"eip1967.proxy.implementation")) - 1
    store = b"\x73" + bytes.fromhex(implementation[2:]) + b"\x7f" + slot.to_bytes(32) + b"\x55"
    proxy = deploy_on(world.chain, returning(await deployed_code(world), store))
    given = {"COMPATIBILITY": "inkdao", "MARKETPLACE_ADDRESS": proxy}
    assert (await find(world, "contract", **given))["status"] == "ok"


async def test_a_clock_behind_the_newest_block_fails_the_command(world: World):
    world.clock.advance(60)
    world.create_post(world.wallet(1), "a cid")
    status, marks = await check(world)
    assert (status, marks["clock"]) == (1, "✗")


async def test_a_newest_block_that_is_too_old_is_a_warning(tmp_path):
    an_hour_ago = MovableClock(datetime.now(UTC) - timedelta(hours=1))
    async with open_world(tmp_path, clock=an_hour_ago) as world:
        status, marks = await check(world)
    assert (status, marks["clock"]) == (0, "!")


async def test_a_head_older_than_the_maximum_age_fails_the_command(tmp_path):
    an_hour_ago = MovableClock(datetime.now(UTC) - timedelta(hours=1))
    async with open_world(tmp_path, clock=an_hour_ago) as world:
        found = await find(world, "clock", CHAIN_MAX_HEAD_AGE_SECONDS="120")
    assert found["status"] == "failed"
    assert "The newest block is 60 minutes old" in found["detail"]


def test_an_unreachable_node_fails_the_command_and_skips_dependent_checks(tmp_path):
    result = run(environment_of(tmp_path), "check")
    assert result.exit_code == 1
    assert "✗ node       No node responds: no connection" in result.output
    marks = marks_of(result.output)
    assert [marks[name] for name in ("contract", "blocks", "clock")] == ["-", "-", "-"]
    assert marks["database"] == "✓"


@pytest.mark.parametrize("final", ["behind", "replaced"])
async def test_a_node_that_disagrees_about_the_final_block_fails_the_command(
    world: World, final: str
):
    number = {"behind": 10**6, "replaced": 0}[final]
    step = Advance(final=BlockRef(number, "0x" + "e" * 64))
    await world.adapters.stores.events.advance(31337, step, world.clock.now())
    status, marks = await check(world)
    assert (status, marks["node"]) == (1, "✗")


async def test_a_damaged_record_fails_the_command(world: World):
    await world.create(world.wallet(1))
    assert (await check(world))[1]["records"] == "✓"
    spoil(world, "UPDATE files SET size = size + 1")
    status, marks = await check(world)
    assert (status, marks["records"]) == (1, "✗")


async def test_a_damaged_index_fails_the_command(world: World):
    await world.create(world.wallet(1))
    # By its changed definition, the index should now contain the draft, which it lacks.
    other = "UPDATE sqlite_schema SET sql = replace(sql, 'onchain', 'pending')"
    spoil(world, f"PRAGMA writable_schema = ON; {other} WHERE name = 'files_posts'")
    status, marks = await check(world)
    assert (status, marks["records"]) == (1, "✗")


async def test_only_a_deep_check_reads_documents(world: World):
    file = await world.create(world.wallet(1))
    await world.adapters.content.remove(Cid(file["cid"]), Network.PRIVATE)
    assert (await check(world))[1]["records"] == "✓"
    status, marks = await check(world, "--deep")
    assert (status, marks["records"]) == (1, "✗")


def spoil(world: World, statements: str) -> None:
    """Change the catalog as damage would, without its triggers."""
    path = world.settings.storage.data_dir / "imprint.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DROP TRIGGER IF EXISTS files_without_checksum")
        connection.executescript(statements)
