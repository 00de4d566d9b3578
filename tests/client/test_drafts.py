"""Saves that survive lost and refused requests, and custom signing domain names."""

import json
import secrets
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from aiohttp import web
from tests.client.proxy import LOSE, Proxy, open_proxy
from tests.processes import Service, free_port, running

from imprint.client import (
    Code,
    Imprint,
    KeyWallet,
    MemoryKeyStore,
    Refusal,
    SignedWrite,
    Unconfirmed,
    Unreachable,
    WalletNeeded,
    WritingSession,
)
from imprint.client.drafts import SAVE_ATTEMPTS

COVER = Path(__file__).parents[2] / "examples" / "viem" / "cover.png"
CID = "bafkreibm6jg3ux5qumhcn2b3flc3tyu6dmlb4xa7u5bf44yegnrjhc4yeq"
AT_ONCE = {"Retry-After": "0"}


def refusal(status: int, code: str, **members: object) -> web.Response:
    problem = {"type": "about:blank", "title": "No", "detail": "Not now.", "error": "No"}
    body = {**problem, "status": status, "code": code, **members}
    return web.json_response(body, status=status, headers=AT_ONCE)


def sorry() -> web.Response:
    """Return the response of a gateway while the service restarts."""
    return web.Response(status=502, text="<html>Bad Gateway</html>", headers=AT_ONCE)


@pytest.fixture
async def behind(imprint: Imprint) -> AsyncIterator[tuple[Proxy, Imprint]]:
    async with open_proxy(imprint) as (proxy, client):
        yield proxy, client


@pytest.fixture
def wallet() -> KeyWallet:
    return KeyWallet(secrets.token_bytes(32))


@pytest.fixture
async def writing(imprint: Imprint, wallet: KeyWallet) -> WritingSession:
    return await imprint.open_writing_session(wallet)


async def list_cids(imprint: Imprint, wallet: KeyWallet) -> list[str]:
    reader = imprint.beside()
    await reader.login(wallet)
    return [file.cid async for file in reader.list_drafts()]


async def test_a_save_with_a_lost_response_takes_effect_once(
    imprint: Imprint, behind: tuple[Proxy, Imprint], writing: WritingSession, wallet: KeyWallet
) -> None:
    proxy, client = behind
    proxy.faults = [LOSE]
    draft = await client.save_draft(writing, "# Once")
    assert proxy.seen[0] == proxy.seen[1]
    assert await list_cids(imprint, wallet) == [draft.cid]
    proxy.faults = [LOSE]
    draft = await client.save_draft(writing, "# Once more", draft.cid)
    assert await list_cids(imprint, wallet) == [draft.cid]


async def test_a_save_is_retried_with_the_same_body_after_429_and_5xx(
    behind: tuple[Proxy, Imprint], writing: WritingSession
) -> None:
    proxy, client = behind
    proxy.faults = [refusal(429, "rate_limited"), sorry(), refusal(503, "overloaded")]
    assert (await client.save_draft(writing, "# Patience")).cid
    assert len(proxy.seen) == 4
    assert len(set(proxy.seen)) == 1


async def test_a_save_fails_after_the_last_attempt(
    behind: tuple[Proxy, Imprint], writing: WritingSession
) -> None:
    proxy, client = behind
    proxy.faults = [sorry() for _ in range(SAVE_ATTEMPTS)]
    with pytest.raises(Unreachable) as raised:
        await client.save_draft(writing, "# Never")
    assert (raised.value.status, raised.value.retry_after) == (502, 0)
    assert len(proxy.seen) == SAVE_ATTEMPTS


async def test_a_stale_save_is_signed_again_with_the_server_time(
    behind: tuple[Proxy, Imprint], writing: WritingSession
) -> None:
    proxy, client = behind
    client.set_clock(client.now() - 3600)
    assert (await client.save_draft(writing, "# Late")).cid
    assert len(set(proxy.seen)) == 2


async def test_a_stale_write_is_not_signed_again_if_it_may_have_taken_effect(
    behind: tuple[Proxy, Imprint], writing: WritingSession
) -> None:
    proxy, client = behind
    proxy.faults = [sorry(), refusal(401, "signature_stale", now=client.now())]
    with pytest.raises(Unconfirmed) as raised:
        await client.save_draft(writing, "# Uncertain")
    assert isinstance(raised.value.__cause__, Refusal)
    assert raised.value.__cause__.code == Code.SIGNATURE_STALE
    assert len(set(proxy.seen)) == 1


async def test_a_save_is_refused_if_its_new_signature_is_also_stale(
    behind: tuple[Proxy, Imprint], writing: WritingSession
) -> None:
    proxy, client = behind
    proxy.faults = [refusal(401, "signature_stale", now=client.now()) for _ in range(2)]
    with pytest.raises(Refusal) as raised:
        await client.save_draft(writing, "# Late")
    assert raised.value.code == Code.SIGNATURE_STALE
    assert len(proxy.seen) == 2


async def test_a_wrong_clock_is_corrected_but_a_wallet_is_not_prompted_twice(
    behind: tuple[Proxy, Imprint], wallet: KeyWallet
) -> None:
    proxy, client = behind
    now = client.now()
    client.set_clock(now - 3600)
    with pytest.raises(Refusal) as raised:
        await client.save_draft(wallet, "# Late")
    assert raised.value.code == Code.SIGNATURE_STALE
    assert len(proxy.seen) == 1
    assert client.now() >= now
    assert (await client.save_draft(wallet, "# In time")).cid


async def test_a_save_can_be_sent_again_after_a_restart(
    imprint: Imprint, behind: tuple[Proxy, Imprint], writing: WritingSession, wallet: KeyWallet
) -> None:
    proxy, client = behind
    proxy.faults = [LOSE]
    kept: list[str] = []

    async def give_up(error: Refusal | Unreachable, seconds: float) -> bool:
        return False

    with pytest.raises(Unreachable):
        await client.save_draft(
            writing, "# Kept", on_signed=lambda made: kept.append(json.dumps(made)), wait=give_up
        )
    (signed,) = [json.loads(text) for text in kept]
    draft = await client.resend_draft(signed, "# Kept")
    assert proxy.seen[0] == proxy.seen[1]
    assert await list_cids(imprint, wallet) == [draft.cid]


async def test_a_save_resent_too_late_is_reported_as_unconfirmed(
    behind: tuple[Proxy, Imprint], writing: WritingSession
) -> None:
    proxy, client = behind
    signed: list[SignedWrite] = []
    await client.save_draft(writing, "# Early", on_signed=signed.append)
    proxy.faults = [refusal(401, "signature_stale", now=client.now())]
    with pytest.raises(Unconfirmed):
        await client.resend_draft(signed[0], "# Early")
    assert len(proxy.seen) == 2


async def test_the_wait_callback_decides_how_often_a_save_is_sent(
    behind: tuple[Proxy, Imprint], writing: WritingSession
) -> None:
    proxy, client = behind
    proxy.faults = [web.Response(status=502) for _ in range(9)]
    pauses: list[float] = []

    async def wait(error: Refusal | Unreachable, seconds: float) -> bool:
        pauses.append(seconds)
        return len(pauses) < 8

    with pytest.raises(Unreachable):
        await client.save_draft(writing, "# Never", wait=wait)
    assert len(proxy.seen) == 8
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]


async def test_a_save_with_a_revoked_session_raises_wallet_needed_and_drops_the_key(
    imprint: Imprint, wallet: KeyWallet
) -> None:
    store = MemoryKeyStore()
    writing = await imprint.open_writing_session(wallet, key_store=store)
    assert imprint.resume_writing_session(wallet.address, store) is not None
    await imprint.login(wallet)
    await imprint.revoke_writing_session(writing.id)
    with pytest.raises(WalletNeeded) as raised:
        await imprint.save_draft(writing, "# Too late")
    assert isinstance(raised.value.__cause__, Refusal)
    assert raised.value.__cause__.code == Code.WRITING_SESSION_INVALID
    assert imprint.resume_writing_session(wallet.address, store) is None


async def test_a_write_signed_by_a_wallet_is_not_retried(
    behind: tuple[Proxy, Imprint], wallet: KeyWallet
) -> None:
    proxy, client = behind
    proxy.faults = [refusal(429, "rate_limited")]
    with pytest.raises(Refusal) as raised:
        await client.create_draft(wallet, "# Once")
    assert (raised.value.code, raised.value.retry_after) == (Code.RATE_LIMITED, 0)
    proxy.faults = [web.Response(status=503, text="Later", headers={"Retry-After": "soon"})]
    with pytest.raises(Unreachable, match="503") as unreachable:
        await client.create_draft(wallet, "# Once")
    assert (unreachable.value.status, unreachable.value.retry_after) == (503, None)
    assert len(proxy.seen) == 2


async def test_a_range_of_a_document_can_be_fetched(imprint: Imprint, wallet: KeyWallet) -> None:
    draft = await imprint.create_draft(wallet, "# With a cover")
    cover = COVER.read_bytes()
    published = await imprint.publish_draft(wallet, draft.cid, thumbnail=cover)
    whole = await imprint.fetch_document(published.thumbnail_cid)
    part = await imprint.fetch_document(published.thumbnail_cid, range="bytes=0-3")
    assert part.data == whole.data[:4] == b"\x89PNG"


@pytest.fixture
def compatible_service(tmp_path: Path) -> Iterator[Service]:
    """A service that is compatible with the legacy front end."""
    given = {"DEV_RPC_PORT": str(free_port()), "COMPATIBILITY": "inkdao"}
    with running(Service(tmp_path, given, "dev")) as opened:
        yield opened


async def test_the_inkdao_form_has_the_domain_name_that_the_service_states(
    compatible_service: Service, wallet: KeyWallet
) -> None:
    url = compatible_service.url
    async with Imprint.connect(url, form="inkdao-1") as earlier:
        draft = await earlier.create_draft(wallet, "# Words", title="Words")
        draft = await earlier.update_draft(wallet, draft.cid, "# More words")
        assert (await earlier.delete_draft(wallet, draft.cid)).status == "deleted"
    async with Imprint.connect(url) as bound:
        assert (await bound.create_draft(wallet, "# Bound")).cid
    async with Imprint.connect(url, form="inkdao-1", domain_name="Imprint") as other:
        with pytest.raises(Refusal) as raised:
            await other.create_draft(wallet, "# Words")
    assert raised.value.code == Code.INVALID_TYPED_DATA


async def test_a_correction_with_a_lost_response_is_added_once(
    behind: tuple[Proxy, Imprint], wallet: KeyWallet
) -> None:
    proxy, client = behind
    record = {"number": 2, "cid": CID, "note": "Typo.", "createdAt": "2025-06-15T00:00:00Z"}
    others = [{**record, "words": 3}, {**record, "number": 1, "words": 3}]
    used = refusal(409, "nonce_used", action="revise", file=None)
    proxy.faults = [sorry(), used, web.json_response({"revisions": others})]
    revision = await client.revise_post(wallet, 7, "Words.", note="Typo.", cid=CID)
    assert revision.number == 2
    assert proxy.seen[0] == proxy.seen[1]


async def test_a_correction_that_may_have_been_added_is_reported(
    behind: tuple[Proxy, Imprint], wallet: KeyWallet
) -> None:
    proxy, client = behind
    proxy.faults = [sorry(), refusal(401, "signature_stale", now=client.now() + 7200)]
    with pytest.raises(Unconfirmed):
        await client.revise_post(wallet, 7, "Words.", cid=CID)
    assert len(set(proxy.seen)) == 1
    assert client.now() >= time.time() + 3600


async def test_a_refusal_of_any_stale_signature_sets_the_clock(
    imprint: Imprint, wallet: KeyWallet
) -> None:
    client = imprint.beside()
    client.set_clock(client.now() - 7200)
    with pytest.raises(Refusal):
        await client.update_profile(wallet, name="Ada")
    assert client.now() >= time.time() - 3600
    assert (await client.update_profile(wallet, name="Ada")).name == "Ada"
