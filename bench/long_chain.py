"""A chain with the posts of a filled catalog, which a node computes from the numbers of its blocks.

python -m bench.long_chain POSTS PORT   serves the node

No real node could mine a million posts within a benchmark. This one answers from formulas, so that
a rebuild of the index is measured without it. Each block has one post, its hashtags and its sales.
"""

import sys
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec

from bench.filled_index import (
    THUMBNAIL,
    buyer_of,
    hash_of,
    price_of,
    sales_of,
    sentence_of,
    time_of,
)
from bench.filled_posts import cid_of_file, description_of, owner_of, tags_of, title_of
from bench.processes import MARKETPLACE
from imprint.domain.formats.abi import encode_call
from imprint.domain.formats.addresses import Address
from imprint.domain.posts.marketplace import POST_CREATED, POST_SUBSCRIBED, POST_TAGGED, TRANSFER

CHAIN_ID = 31337

_ZERO = bytes(32)
_FULL_BLOOM = "0x" + "ff" * 256


class LongChain:
    """The blocks with this many posts, and one empty block before them."""

    def __init__(self, posts: int) -> None:
        self._posts = posts

    def answer(self, method: str, params: list[Any]) -> Any:
        """Return the result of a call."""
        match method:
            case "eth_chainId":
                return hex(CHAIN_ID)
            case "eth_getBlockByNumber":
                return self._block(params[0])
            case "eth_getLogs":
                wanted = params[0]
                first, last = int(wanted["fromBlock"], 16), int(wanted["toBlock"], 16)
                (topics, *_) = wanted["topics"]
                return [log for n in range(first, last + 1) for log in self._logs(n, topics)]
            case "eth_call":
                return _entry(int(params[0]["data"][10:], 16))
        raise ValueError(method)

    def _block(self, which: str) -> Any:
        tagged = {"latest": self._posts, "safe": self._posts, "finalized": self._posts}
        number = tagged[which] if which in tagged else int(which, 16)
        if number > self._posts:
            return None
        return {
            "number": hex(number),
            "hash": hash_of("block", number),
            "parentHash": hash_of("block", number - 1),
            "logsBloom": _FULL_BLOOM,
            "timestamp": hex(time_of(number) // 1_000_000),
            "transactions": [],
        }

    def _logs(self, number: int, topics: list[str]) -> Iterator[dict[str, Any]]:
        if not 1 <= number <= self._posts:
            return
        for index, (log_topics, data) in enumerate(_events(number, self._posts)):
            first = f"0x{log_topics[0].hex()}"
            if first in topics:
                yield {
                    "address": MARKETPLACE.lower(),
                    "topics": [first, *(f"0x{each.hex()}" for each in log_topics[1:])],
                    "data": f"0x{data.hex()}",
                    "blockHash": hash_of("block", number),
                    "blockNumber": hex(number),
                    "blockTimestamp": hex(time_of(number) // 1_000_000),
                    "transactionHash": hash_of("transaction", number),
                    "logIndex": hex(index),
                    "removed": False,
                }


def _events(number: int, count: int) -> Iterator[tuple[tuple[bytes, ...], bytes]]:
    """Yield the topics and the data of each log in the block of a post."""
    post, price = _word(number), price_of(number)
    texts = (sentence_of(title_of(number)), cid_of_file(number).encode(), THUMBNAIL)
    yield (POST_CREATED, post, _topic(owner_of(number))), encode_call(b"", *texts, price)
    for tag in tags_of(number, count):
        yield (POST_TAGGED, post), encode_call(b"", tag.encode())
    for sale in range(sales_of(number)):
        buyer = buyer_of(number, sale, count)
        moved = encode_call(b"", Address(buyer), 1)
        yield (TRANSFER, _ZERO, _topic(buyer), post), moved
        yield (POST_SUBSCRIBED, post, _topic(buyer)), _word(price)


def _entry(number: int) -> str:
    """Return what the contract's `getPostInfo` returns for a post."""
    entry = encode_call(
        b"",
        Address(owner_of(number)),
        cid_of_file(number).encode(),
        sentence_of(title_of(number)),
        THUMBNAIL,
        sentence_of(description_of(number)),
        price_of(number),
    )
    return "0x" + (_word(32) + entry).hex()


def _word(number: int) -> bytes:
    return number.to_bytes(32)


def _topic(address: str) -> bytes:
    return bytes.fromhex(address[2:]).rjust(32, b"\0")


def serve(posts: int, port: int) -> None:
    """Serve the chain on this port until the process ends."""
    chain = LongChain(posts)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._respond(b"")

        def do_POST(self) -> None:
            calls = msgspec.json.decode(self.rfile.read(int(self.headers["Content-Length"])))
            results = [
                {
                    "jsonrpc": "2.0",
                    "id": call["id"],
                    "result": chain.answer(call["method"], call["params"]),
                }
                for call in calls
            ]
            self._respond(msgspec.json.encode(results))

        def _respond(self, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            # The indexer refuses responses that are too large, and requests fewer blocks.
            with suppress(ConnectionError):
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Do not log requests."""

    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    serve(int(sys.argv[1]), int(sys.argv[2]))
