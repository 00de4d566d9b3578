"""Publish a post and sell it, as a client of `imprint dev`.

    python examples/publish_a_post.py [http://127.0.0.1:8000 [http://127.0.0.1:8545]]

The second URL is the node's. `imprint dev` prints it. Alice logs in, writes and updates a
draft, publishes it and calls `createPost()` on the marketplace. Bob is refused, buys a token and
reads.
"""

import asyncio
import io
import secrets
import sys

from PIL import Image

from imprint.client import (
    Code,
    Imprint,
    KeyWallet,
    Refusal,
    buy_post_call,
    create_post_call,
    created_post_id,
    format_coin,
    parse_coin,
    wait_for_receipt,
)

ALICE = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"
BOB = "0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a"
"""Well-known development keys: never send them anything of value."""

PRICE = parse_coin("0.01")


def draw_cover() -> bytes:
    """A small random PNG."""
    tint = (secrets.randbelow(256), secrets.randbelow(256), secrets.randbelow(256))
    picture = io.BytesIO()
    Image.new("RGB", (320, 180), tint).save(picture, "PNG")
    return picture.getvalue()


async def main(url: str = "http://127.0.0.1:8000", rpc_url: str | None = None) -> None:
    async with Imprint.connect(url) as imprint:
        node, marketplace = imprint.node(rpc_url), imprint.marketplace
        alice, bob = KeyWallet(ALICE, node), KeyWallet(BOB, node)

        await imprint.login(alice)
        print(f"Alice logged in as {alice.address}")

        draft = await imprint.create_draft(alice, "# Hello\n\nA first line.")
        text = "# Hello\n\nA first line, and a better second."
        draft = await imprint.update_draft(alice, draft.cid, text)
        print(f"Her draft is {draft.cid}")
        kept = await imprint.read_draft(draft.cid)
        print(f"She reads it back: {kept.content.splitlines()[-1]}")

        hashtags = ["essays", "hello"]
        published = await imprint.publish_draft(
            alice, draft.cid, thumbnail=draw_cover(), hashtags=hashtags
        )
        call = create_post_call(
            marketplace,
            cid=draft.cid,
            title="Hello",
            thumbnail_cid=published.thumbnail_cid,
            description="A greeting",
            price=PRICE,
            hashtags=hashtags,
        )
        receipt = await wait_for_receipt(node, await alice.send_transaction(call))
        post_id = created_post_id(receipt, marketplace)
        if post_id is None:
            raise RuntimeError("The transaction created no post.")
        post = await imprint.wait_for_post(draft.cid)
        print(f"It is post {post_id} now, tagged {', '.join(post.hashtags)}")

        reader = imprint.beside()
        await reader.login(bob)
        try:
            await reader.read_post(post_id)
        except Refusal as refusal:
            if refusal.code != Code.NOT_ENTITLED:
                raise
            print(f"Bob may not read it yet: {refusal.code}")
        else:
            raise AssertionError("Bob read a paid post without a token.")

        print(f"It costs {format_coin(PRICE)}")
        bought = await bob.send_transaction(buy_post_call(marketplace, post_id, PRICE))
        await wait_for_receipt(node, bought)
        read = await reader.read_post(post_id)
        print(f"Bob bought a token and reads: {read.content.splitlines()[-1]}")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
