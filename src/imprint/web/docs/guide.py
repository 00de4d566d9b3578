"""The guide: the introduction of the OpenAPI description, which the docs page starts with."""

GUIDE = """\
Authors keep drafts in this service, publish them on the chain, and readers read the posts whose \
token they hold. The service stores the texts and decides who may read them, from what the \
marketplace contract says about holders and prices.

Paths are relative to the address of this page. Every `GET` also accepts `HEAD`.

## Signed writes

To create, update, publish or delete a draft you need no account. The author's wallet signs \
EIP-712 typed data, for example with `eth_signTypedData_v4`. Send it as `salt`, with `address` \
and `signature`.

- The domain is `signing` of `GET /.well-known/imprint.json`.
- The message has three strings: `action`, `nonce` and `timestamp`.
- The timestamp is Unix time in seconds, at most 60 seconds before or after now.
- A signer can use a nonce once. A write spends it when it takes effect, so you can repeat a write \
that was refused. If you repeat a write that took effect, the response is `nonce_used` with the \
`file` it produced; a client that lost the first response can continue with that.

## Sessions

Reading drafts, and posts that are not free, needs a session. Log in with an EIP-4361 message for \
one of `login.domains` of `GET /.well-known/imprint.json`, and send the `token` as \
`Authorization: Bearer <token>`. It is valid for two hours.

## From draft to post

1. Create the draft, and update it as often as you like. Each update changes its cid.
2. Prepare it with a thumbnail and hashtags.
3. Call `createPost` of the marketplace contract, with the cids of the draft and the thumbnail. \
`GET /.well-known/marketplace.json` has its chain, address and ABI.
4. When the event arrives, the file becomes `onchain`. It cannot be changed any more.

## Errors

Every error response is `application/problem+json` (RFC 9457). `code` is for programs and never \
changes its meaning; `detail` is for people, and `error` repeats it. Each operation lists all its \
codes. In addition, an unknown path is 404 `not_found`, and a wrong method is 405 \
`method_not_allowed`; an unexpected error is 500 `internal_error`. A 503 neither grants nor denies \
anything: try again after `Retry-After` seconds.

## Lists

Lists of files are newest first. `next_page_token` is `null` on the last page; otherwise send it, \
unchanged, to `GET /filesByNextPageToken`. Paging returns every file once, even if others write \
meanwhile. Lists of posts, sales and what you hold take the token as their own parameter \
`next_page_token`.

## Caching

Contents and thumbnails carry an `ETag`, which is their quoted cid; lists, feeds and pages carry \
one of their content. Send it as `If-None-Match`; 304 means that your copy is current. Responses \
for a single reader are `no-store`.

## Limits

`limits` of `GET /.well-known/imprint.json` has the limits of contents, thumbnails, hashtags, \
nonces and login messages, and the quotas of a signer. A signed request without its content or \
picture has at most 65 536 bytes.

## Versions

Within a major version the interface only grows: ignore members you do not know. The headers \
`Deprecation` and `Sunset` announce what will be removed.
"""
"""The guide in CommonMark, the same for every service."""
