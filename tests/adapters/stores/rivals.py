"""A process that creates drafts with nonces that other processes also use.

Its arguments are a URL, its process number, the number of nonces, and the draft quota of a
signer.
"""

import asyncio
import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from imprint.adapters.database.postgresql.database import open_postgresql
from imprint.adapters.database.sqlite.database import open_sqlite
from imprint.bootstrap.stores import Stores, open_stores
from imprint.domain.drafts.files import Action, Intent, Network, Quota, Version, Write
from imprint.domain.errors import NonceUsed, Refusal
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid

MOST, AT_ONCE = 8, 20
AT = datetime(2026, 1, 1, tzinfo=UTC)
OWNERS = [Address(f"0x{number:040x}") for number in range(10)]


async def send(stores: Stores, process: int, number: int, quota: Quota) -> bool:
    """Create a draft with nonce `number` and return whether this process succeeded."""
    owner = OWNERS[number % len(OWNERS)]
    write = Write(owner, Action.CREATE, f"nonce-{number}", AT)
    unique = number * MOST + process
    version = Version(f"f{unique}", f"g{unique}", owner, unique, Cid(f"bafy{unique}"), 1, AT)
    lease = AT + timedelta(hours=1)
    intent = Intent(f"i{unique}", write, version.cid, version.size, Network.PRIVATE, lease, None)
    try:
        await stores.drafts.begin_write(intent, quota)
        await stores.drafts.add_draft(write, intent, version)
    except NonceUsed as used:
        if used.file is None:
            raise
        return False
    except Refusal:
        return False
    return True


async def send_all(stores: Stores, process: int, nonces: int, quota: Quota) -> int:
    """Send every nonce and return how many took effect."""
    numbers = iter(range(nonces))

    async def send_some() -> int:
        # All tasks share one iterator, so that every process sends the nonces in order.
        return sum([await send(stores, process, number, quota) for number in numbers])

    try:
        return sum(await asyncio.gather(*(send_some() for _ in range(AT_ONCE))))
    finally:
        await stores.close()


def open_this(address: str) -> Stores:
    """Open the stores at this address."""
    if address.startswith("sqlite:///"):
        return open_stores(open_sqlite(Path(address.removeprefix("sqlite:///"))))
    return open_stores(open_postgresql(address))


if __name__ == "__main__":
    address, process, nonces, drafts = sys.argv[1:]
    sending = send_all(open_this(address), int(process), int(nonces), Quota(drafts=int(drafts)))
    print(json.dumps(asyncio.run(sending)))
