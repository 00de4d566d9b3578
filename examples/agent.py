"""An agent with a spending limit: reads posts, and buys those that it does not hold yet.

    python examples/agent.py http://127.0.0.1:8000 POST_ID...

Both prices and the chain's fees count towards the limit. A post that costs more than what is left
is skipped.
"""

import asyncio
import sys

from imprint.client import Imprint, KeyWallet, TooExpensive, format_coin, parse_coin

KEY = "0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6"
"""A well-known development key: never send it anything of value."""

LIMIT = parse_coin("0.02")


async def main(url: str, *post_ids: str) -> None:
    async with Imprint.connect(url) as imprint:
        # Only a development chain names its node. For another chain, pass the URL of a node.
        node = imprint.node()
        wallet = KeyWallet(KEY, node)

        async def count_coins() -> int:
            return int(await node.request("eth_getBalance", wallet.address, "latest"), 16)

        left: int = LIMIT
        for post_id in post_ids:
            before = await count_coins()
            try:
                post = await imprint.read(post_id, wallet=wallet, pay=True, max=left, node=node)
            except TooExpensive as error:
                print(f"Post {post_id} costs {format_coin(error.price)}, which is too much.")
                continue
            spent = before - await count_coins()
            left = max(left - spent, 0)
            print(f"Post {post_id} cost {format_coin(spent)}: {post.content.splitlines()[-1]}")
        print(f"{format_coin(left)} of {format_coin(LIMIT)} is left.")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
