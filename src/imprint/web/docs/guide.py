"""The guide: what has to be known once, before any single operation."""

from collections.abc import Mapping
from typing import Any

_GUIDE = """\
An author keeps drafts here, publishes them on the chain, and readers read what they hold a token \
of. The service stores the texts and decides who may read them; the marketplace contract says who \
holds what.

Addresses below are relative to where this page is. Every `GET` also answers `HEAD`.

## Signed writes

Creating, updating, publishing and deleting a draft needs no account: the author's wallet signs \
EIP-712 typed data, for example with `eth_signTypedData_v4`, and sends it as `salt`, with \
`address` and `signature`.

- The domain is name `{name}`, version `{version}`, chainId `{chain_id}`.
- The message has three texts: `action`, `nonce` and `timestamp`.
- The timestamp is Unix time in seconds, at most {freshness} seconds away from now, either way.
- A nonce is used once by each signer. It is spent when the write takes effect: a write that was \
refused may be sent again as it is. A write that is repeated is answered `nonce_used`, with the \
`file` it produced, so a client whose answer got lost can go on.

## Sessions

Drafts and posts are read with a session. Log in with a message of EIP-4361 for one of \
{domains}, and send the `token` as `Authorization: Bearer <token>`. It is good for two hours.

## From draft to post

1. Create the draft, and update it as often as you like. Its cid changes each time.
2. Prepare it with a thumbnail and hashtags.
3. Call `createPost` of the marketplace at `{marketplace}` on chain {chain_id}, with the \
draft's cid and the thumbnail's.
4. When the event arrives, the file is `onchain`: it never changes again.

## Refusals

Every refusal is `application/problem+json` (RFC 9457). `code` is for programs and never changes \
its meaning; `detail` is for people, and `error` repeats it. Each operation lists all the codes it \
knows. Besides, an unknown path is 404 `not_found` and a wrong method 405 `method_not_allowed`. \
A 503 is neither a yes nor a no: try again after `Retry-After` seconds.

## Lists

Lists are newest first. `next_page_token` is `null` on the last page; otherwise hand it, \
unchanged, to `GET /filesByNextPageToken`. Every file is seen once, whatever is written meanwhile.

## Caching

Contents and thumbnails carry an `ETag`, which is their quoted cid: send it as `If-None-Match`, \
and 304 says that your copy is current. Whatever only one reader may see is `no-store`.

## Limits

- Content: {content_bytes} bytes of UTF-8.
- Thumbnails: {thumbnail_bytes} bytes, {thumbnail_pixels} pixels.
- Hashtags: {hashtags}, of {hashtag_length} characters each.
- Nonces: {nonce_length} characters. Login messages: {login_message_bytes} bytes.

## Versions

This is version {interface} of the interface. Within a major version changes only add: ignore \
members you do not know. What will go is announced with the headers `Deprecation` and `Sunset`.
"""


def write_guide(facts: Mapping[str, Any]) -> str:
    """The guide for a service with these facts about itself, in CommonMark."""
    signing, limits = facts["signing"], facts["limits"]
    numbers = {name: f"{value:,}".replace(",", " ") for name, value in limits.items()}
    return _GUIDE.format(
        name=signing["name"],
        version=signing["version"],
        chain_id=signing["chainId"],
        freshness=facts["login"]["freshness_seconds"],
        domains=", ".join(f"`{domain}`" for domain in facts["login"]["domains"]),
        marketplace=facts["chain"]["marketplace"],
        interface=facts["version"],
        **numbers,
    )
