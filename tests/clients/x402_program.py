"""Reads a paid post with the x402 client from PyPI, which must be installed.

    python x402_program.py SERVICE_URL POST_ID holder|buyer|refusing|limited KEY

`holder` only signs in. `buyer` also pays with Imprint's scheme. `refusing` has the scheme,
but does not allow payments in the chain's coin. `limited` has a limit below the price. The
program reads the post twice, and prints the responses and the payment as JSON.
"""

import asyncio
import json
import sys
from base64 import b64decode
from functools import partial
from typing import Any

from eth_account import Account
from x402 import x402Client
from x402.extensions.sign_in_with_x import create_siwx_client_hook
from x402.http import x402HTTPClient
from x402.http.clients import PaymentError, x402HttpxClient

from imprint.client import Imprint, KeyWallet, Seller
from imprint.client.x402 import ImprintSubscribeScheme

PRICE = 10**15


async def main(url: str, post_id: str, kind: str, key: str) -> None:
    async with Imprint.connect(url) as imprint:
        chain = imprint.facts.chain
    client = x402Client()
    if kind != "holder":
        seller = Seller(url, chain.id, chain.marketplace)
        most = PRICE - 1 if kind == "limited" else PRICE
        scheme = ImprintSubscribeScheme(
            seller, partial(KeyWallet, key), str(chain.rpc_url), max=most
        )
        client.register(scheme.network, scheme)
        if kind != "refusing":
            allowed = {"network": scheme.network, "asset": "native"}
            client.set_spend_controls({"allowed_assets": [allowed]})
    http_client = x402HTTPClient(client)
    if kind == "holder":
        http_client.on_payment_required(create_siwx_client_hook(Account.from_key(key)))
    said: dict[str, Any] = {"read": []}
    async with x402HttpxClient(http_client, timeout=60) as http:
        try:
            for _ in range(2):
                response = await http.get(f"{url}/posts/{post_id}/content")
                said["read"].append([response.status_code, response.json().get("content")])
                paid = response.headers.get("PAYMENT-RESPONSE")
                said.setdefault("paid", json.loads(b64decode(paid)) if paid else None)
        except PaymentError as error:
            said["refused"] = str(error)
    print(json.dumps(said))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
