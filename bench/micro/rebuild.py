"""Measure how fast the post index is rebuilt: python -m bench.micro.rebuild

A node in a separate process serves prepared logs over the loopback interface. The indexer reads,
decodes and applies these logs. Only its own processor time counts, so PostgreSQL's server is
excluded.
"""

import multiprocessing
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import uvloop

from bench.databases import SqliteFiles, start_postgresql
from imprint.adapters.chain.chain_reader import JsonRpcChainReader
from imprint.adapters.chain.json_rpc import JsonRpc
from imprint.adapters.database.database import Database
from imprint.adapters.database.postgresql.database import open_postgresql
from imprint.adapters.database.sqlite.database import open_sqlite
from imprint.bootstrap.stores import open_stores
from imprint.domain.formats.abi import encode_call
from imprint.domain.formats.addresses import ZERO_ADDRESS, Address
from imprint.domain.posts.marketplace import (
    POST_CREATED,
    POST_PRICE_UPDATED,
    POST_SUBSCRIBED,
    TRANSFER,
)
from imprint.ports.post_index import IndexSource
from imprint.services.chain.log_stream import LogStream
from imprint.services.posts.indexer import Indexer, take_index

EVENTS = int(os.environ.get("EVENTS", "50000"))
"""Number of chain events."""

EVENTS_PER_BLOCK = 20
"""Number of logs per block."""

READERS, AUTHORS = 5_000, 500
"""Number of buyers, and number of authors."""

CHAIN, DEPTH, START = 31337, 64, 1_750_000_000
CONTRACT = Address("0x" + "c3" * 20)


def main() -> None:
    """Rebuild the index on each database and print events per second."""
    with ExitStack() as stack:
        ours, theirs = multiprocessing.Pipe()
        node = multiprocessing.Process(target=_serve, args=(theirs,), daemon=True)
        node.start()
        stack.callback(node.terminate)
        port = ours.recv()
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        path = SqliteFiles(folder).make().removeprefix("sqlite:///")
        databases = {
            "SQLite": partial(open_sqlite, Path(path)),
            "PostgreSQL": partial(open_postgresql, start_postgresql(stack).make()),
        }
        for name, open_database in databases.items():
            uvloop.run(_rebuild(name, open_database(), port))


async def _rebuild(name: str, database: Database, port: int) -> None:
    rpc = JsonRpc([f"http://127.0.0.1:{port}"])
    source = IndexSource(CHAIN, CONTRACT, 0)
    stream, stores = LogStream(JsonRpcChainReader(rpc, CHAIN, CONTRACT)), open_stores(database)
    indexer = Indexer(stream, stores.events, stores.leases, stores.index_writer, source, DEPTH)
    async with take_index(stores.leases, print) as lease:
        began, processor = time.perf_counter(), time.process_time()
        await indexer.rebuild(lease, lambda done, total: None)
        wall, spent = time.perf_counter() - began, time.process_time() - processor
    await rpc.close()
    await stores.close()
    print(
        f"{name:12}{EVENTS:8,} events {EVENTS / wall:8,.0f}/s"
        f" {EVENTS / spent:8,.0f} per second of processor time"
    )


def _serve(told: Connection) -> None:
    blocks = _make_blocks()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            calls = msgspec.json.decode(self.rfile.read(int(self.headers["Content-Length"])))
            results = [
                {"jsonrpc": "2.0", "id": call["id"], "result": _result(blocks, call)}
                for call in calls
            ]
            body = msgspec.json.encode(results)
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with suppress(ConnectionError):
                # The indexer refuses responses that are too large, and requests fewer blocks.
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Do not log requests."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    told.send(server.server_address[1])
    server.serve_forever()


def _result(blocks: list[list[dict[str, Any]]], call: dict[str, Any]) -> Any:
    params = call["params"]
    match call["method"]:
        case "eth_chainId":
            return hex(CHAIN)
        case "eth_getBlockByNumber":
            number = len(blocks) - 1 if params[0] == "latest" else int(params[0], 16)
            if number >= len(blocks):
                return None
            return {
                "number": hex(number),
                "hash": _hash(number),
                "timestamp": hex(START + 12 * number),
                "transactions": [],
            }
        case "eth_getLogs":
            first, last = int(params[0]["fromBlock"], 16), int(params[0]["toBlock"], 16)
            return [log for block in blocks[first : last + 1] for log in block]
        case "eth_call":
            return _entry(int(params[0]["data"][10:], 16))
    raise ValueError(call["method"])


def _make_blocks() -> list[list[dict[str, Any]]]:
    """Return blocks with a repeated mix of posts, purchases, mints, transfers and price changes."""
    events = _events(Random(12))
    blocks: list[list[dict[str, Any]]] = [[]]
    for number in range(1, -(-EVENTS // EVENTS_PER_BLOCK) + 1):
        size = min(EVENTS_PER_BLOCK, EVENTS - (number - 1) * EVENTS_PER_BLOCK)
        blocks.append([_log(number, index, *next(events)) for index in range(size)])
    return blocks


def _events(random: Random) -> Iterator[tuple[tuple[bytes, ...], bytes]]:
    post_id = 0
    zero = _topic(ZERO_ADDRESS)
    while True:
        post_id += 1
        texts = (b"Title of %d" % post_id, _cid(post_id), b"thumbnail")
        yield (POST_CREATED, _topic(post_id), _topic(_author(post_id))), _encode(*texts, 5)
        readers = [_reader(number) for number in random.sample(range(READERS), 10)]
        post = _topic(random.randint(1, post_id))
        for reader in readers[:8]:
            moved = _encode(reader, 1)
            yield (TRANSFER, zero, _topic(reader), post), moved
            yield (POST_SUBSCRIBED, post, _topic(reader)), _encode(5)
        for sender, receiver in zip(readers[:2], readers[8:], strict=True):
            yield (TRANSFER, _topic(sender), _topic(receiver), post), _encode(sender, 1)
        yield (POST_PRICE_UPDATED, post), _encode(5, random.randint(0, 9))


def _log(number: int, index: int, topics: tuple[bytes, ...], data: bytes) -> dict[str, Any]:
    return {
        "address": CONTRACT,
        "topics": ["0x" + topic.hex() for topic in topics],
        "data": "0x" + data.hex(),
        "blockHash": _hash(number),
        "blockNumber": hex(number),
        "blockTimestamp": hex(START + 12 * number),
        "transactionHash": _hash(number * 1_000 + index),
        "logIndex": hex(index),
        "removed": False,
    }


def _entry(post_id: int) -> str:
    author, about = _author(post_id), b"About post %d. " % post_id * 10
    entry = _encode(author, _cid(post_id), b"Title", b"thumbnail", about, 5)
    return "0x" + (_encode(32) + entry).hex()


def _encode(*values: int | Address | bytes) -> bytes:
    return encode_call(b"", *values)


def _topic(value: int | Address) -> bytes:
    return encode_call(b"", value)


def _hash(number: int) -> str:
    return f"0x{number + 1:064x}"


def _cid(post_id: int) -> bytes:
    return b"cid %d" % post_id


def _author(post_id: int) -> Address:
    return Address(f"0x{10**9 + post_id % AUTHORS:040x}")


def _reader(number: int) -> Address:
    return Address(f"0x{2 * 10**9 + number:040x}")


if __name__ == "__main__":
    main()
