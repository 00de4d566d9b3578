"""The guide: the introduction of the OpenAPI description, which the docs page starts with."""

GUIDE = """\
Authors keep drafts in this service, publish them on the chain, and readers read the posts whose \
token they hold. The service stores the texts and decides who may read them, from what the \
marketplace contract says about holders and prices.

Paths are relative to the address of this page. Every `GET` also accepts `HEAD`.

## Signed writes

To create, update, publish or delete a draft you need no account. The author's wallet signs \
EIP-712 typed data, for example with `eth_signTypedData_v4`. Send it as `salt`, with `address` \
and `signature`. Any wallet can sign: a private key, a contract (ERC-1271), also one that is not \
deployed yet (ERC-6492), and a delegated account (EIP-7702).

- The domain is `signing` of `GET /.well-known/imprint.json`, and `signing_forms` lists the forms \
of typed data that this service accepts.
- Sign the form `imprint-2`: its types are `CreateDraft`, `UpdateDraft`, `PublishDraft` and \
`DeleteDraft`. The message names the `service`, the `cid` of the draft, and the Keccak-256 hash of \
the content or thumbnail, so that nobody can use the signature for another body, another draft or \
another deployment: that would be `body_mismatch`. A signature in the form `imprint-1` covers only \
action, nonce and timestamp.
- The timestamp is Unix time in seconds, at most 60 seconds before or after now. \
`now` of the same document, the header `Date`, and `now` of the refusal `signature_stale` are the \
time here: a client whose clock is wrong adds the difference.
- A signer can use a nonce once, in all forms together. Take at least 16 random bytes. The address \
with the second of the clock is not enough: a create and an update in the same second would have \
the same nonce, and the update would be refused.
- A write spends its nonce when it takes effect, so you can repeat a write that was refused. If \
you repeat a write that took effect, the response is `nonce_used` with the `action` that spent the \
nonce and the `file` it produced. A client that lost the first response continues with that file, \
but only if `action` is the one that it asked for: otherwise its own write was never made.

## Writing sessions

With one signature a wallet allows a key of the browser (P-256, WebCrypto) to create and update \
its drafts for up to 24 hours, so that a save needs no prompt. The key never publishes or deletes. \
`POST /writing/sessions` opens one; a write by it has the member `session`. Revoke it with a \
session of the same wallet, and it is refused everywhere from the next request on.

## Sessions

Reading drafts, and posts that are not free, needs a session. Log in with an EIP-4361 message for \
one of `login.domains` of `GET /.well-known/imprint.json`, and send the `token` as \
`Authorization: Bearer <token>`. It is valid until `expiresAt`, two hours at most, or until \
`POST /auth/logout` ends it.

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

CURL_SIGNING = (
    """\
A signed command reads `$SALT`, `$ADDRESS` and `$SIGNATURE` from the shell. Sign freshly, within a \
minute of sending, with a new nonce each time. This module prints the three for a create, and \
`eval "$(node sign.mjs)"` sets them; `signWrite` takes `update`, `publish` and `delete` as well. \
For a login, `$SALT` is the message as a JSON string, signed with `personal_sign`.""",
    """\
import { hashText, Imprint, walletOfAccount } from "imprint-press";
import { privateKeyToAccount } from "viem/accounts";

const imprint = await Imprint.connect("https://imprint.example");
const wallet = walletOfAccount(privateKeyToAccount(process.env.PRIVATE_KEY));
const values = { contentHash: hashText("The ink is still wet.") };
const { salt, address, signature } = await imprint.signWrite(wallet, "create", values);
console.log(`SALT='${JSON.stringify(salt)}' ADDRESS=${address} SIGNATURE=${signature}`);
""",
)
"""How to set the variables of signed commands: a text, and a module."""
