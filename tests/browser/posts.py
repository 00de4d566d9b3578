"""Posts for the pages to show, created by the Python client without a browser.

A browser under test has its own event loop in this thread, so the client runs in another.
"""

import asyncio
import io
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from PIL import Image
from tests.browser.accounts import Account

from imprint.client import (
    Call,
    Code,
    Imprint,
    KeyWallet,
    NodeWallet,
    Refusal,
    buy_many_call,
    buy_post_call,
    create_post_call,
    created_post_id,
    wait_for_receipt,
)
from imprint.domain.formats.addresses import checksum_address, parse_address

Result = TypeVar("Result")

Who = Account | int
"""A test account, or the index of a development account."""

AUTHOR = 0
"""The development account that publishes by default."""

TRANSFER = bytes.fromhex("095bcdb6")
"""The selector of ERC-6909's `transfer`."""

VISIBLE_SECONDS = 60
"""Seconds that the post index may take to see a block."""

POLL_SECONDS = 0.1
"""Seconds between polls of the service for a block."""


@dataclass(frozen=True, slots=True)
class NewPost:
    """An author's input for a post."""

    title: str
    content: str
    description: str = ""
    price: int = 0
    hashtags: Sequence[str] = ()
    picture_name: str = "picture.png"
    colour: str = "#8a5a3c"


@dataclass(frozen=True, slots=True)
class ForeignPost:
    """A post created only on the chain, without a document at this service."""

    title: str
    cid: str
    thumbnail_cid: str
    description: str = ""
    price: int = 0
    hashtags: Sequence[str] = ()


def publish(url: str, posts: Sequence[NewPost], author: Who = AUTHOR) -> list[str]:
    """Publish posts and return their ids once pages can show them."""

    async def work(imprint: Imprint) -> list[str]:
        wallet = await _account(imprint, author)
        ids = []
        for post in posts:
            draft = await imprint.create_draft(wallet, post.content)
            stored = await imprint.publish_draft(
                wallet,
                draft.cid,
                thumbnail=_draw(post.colour),
                hashtags=post.hashtags,
                thumbnail_name=post.picture_name,
            )
            foreign = ForeignPost(
                post.title,
                draft.cid,
                stored.thumbnail_cid,
                post.description,
                post.price,
                post.hashtags,
            )
            ids.append(await _create(imprint, wallet, foreign))
            await imprint.wait_for_post(draft.cid)
        await _until_visible(imprint, ids)
        return ids

    return _run(url, work)


def create_on_chain(url: str, posts: Sequence[ForeignPost], author: Who = AUTHOR) -> list[str]:
    """Create posts through the contract alone and return their ids once pages can show them."""

    async def work(imprint: Imprint) -> list[str]:
        wallet = await _account(imprint, author)
        ids = [await _create(imprint, wallet, post) for post in posts]
        await _until_visible(imprint, ids)
        return ids

    return _run(url, work)


def buy(url: str, post_id: str, reader: Who, receiver: str | None = None) -> None:
    """Buy a post at its price, as a gift if there is a receiver."""

    async def work(imprint: Imprint) -> None:
        wallet = await _account(imprint, reader)
        price = int((await imprint.show_post(post_id)).price)
        call = buy_post_call(imprint.marketplace, post_id, price)
        if receiver is not None:
            adapter = imprint.facts.chain.adapter
            assert adapter is not None
            call = buy_many_call(adapter, [post_id], receiver, price)
        sold = (await imprint.show_post(post_id)).sales.count
        await wait_for_receipt(imprint.node(), await wallet.send_transaction(call))
        async with asyncio.timeout(VISIBLE_SECONDS):
            while (await imprint.show_post(post_id)).sales.count == sold:  # noqa: ASYNC110 - no event
                await asyncio.sleep(POLL_SECONDS)

    _run(url, work)


def _run(url: str, work: Callable[[Imprint], Coroutine[Any, Any, Result]]) -> Result:
    async def connected() -> Result:
        async with Imprint.connect(url) as imprint:
            return await work(imprint)

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, connected()).result()


async def _account(imprint: Imprint, who: Who) -> KeyWallet | NodeWallet:
    if isinstance(who, Account):
        return who.client_wallet(imprint)
    node = imprint.node()
    address = (await node.request("eth_accounts"))[who]
    return NodeWallet(node, checksum_address(parse_address(address)))


async def _create(imprint: Imprint, wallet: KeyWallet | NodeWallet, post: ForeignPost) -> str:
    call = create_post_call(
        imprint.marketplace,
        cid=post.cid,
        title=post.title,
        thumbnail_cid=post.thumbnail_cid,
        description=post.description,
        price=post.price,
        hashtags=post.hashtags,
    )
    receipt = await wait_for_receipt(imprint.node(), await wallet.send_transaction(call))
    post_id = created_post_id(receipt, imprint.marketplace)
    assert post_id is not None
    return post_id


async def _until_visible(imprint: Imprint, ids: Sequence[str]) -> None:
    async with asyncio.timeout(VISIBLE_SECONDS):
        for post_id in ids:
            while not await _is_visible(imprint, post_id):  # noqa: ASYNC110 - it has no event
                await asyncio.sleep(POLL_SECONDS)


async def _is_visible(imprint: Imprint, post_id: str) -> bool:
    try:
        await imprint.show_post(post_id)
    except Refusal as refusal:
        if refusal.code == Code.NOT_FOUND:
            return False
        raise
    return True


def _draw(colour: str) -> bytes:
    picture = io.BytesIO()
    Image.new("RGB", (600, 400), colour).save(picture, "PNG")
    return picture.getvalue()


def end_sessions(url: str, reader: Who) -> None:
    """Sign out everywhere, as from another device."""

    async def work(imprint: Imprint) -> None:
        await imprint.login(await _account(imprint, reader))
        await imprint.logout(all=True)

    _run(url, work)


def give(url: str, post_id: str, giver: Who, receiver: Who) -> None:
    """Transfer a post (ERC-6909) and wait until the receiver's library shows it."""

    async def work(imprint: Imprint) -> None:
        wallet, other = await _account(imprint, giver), await _account(imprint, receiver)
        await imprint.login(other)
        words = [int(other.address, 16), int(post_id), 1]
        data = TRANSFER + b"".join(word.to_bytes(32, "big") for word in words)
        call = Call(imprint.marketplace, data)
        await wait_for_receipt(imprint.node(), await wallet.send_transaction(call))
        async with asyncio.timeout(VISIBLE_SECONDS):
            while post_id not in {held.id async for held in imprint.list_library()}:  # noqa: ASYNC110 - no event
                await asyncio.sleep(POLL_SECONDS)

    _run(url, work)
