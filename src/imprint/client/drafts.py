"""Methods for drafts and files: signed writes, texts, documents and file lists."""

import asyncio
import itertools
import json
import secrets
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal, NotRequired, TypedDict, TypeVar
from urllib.parse import quote

import aiohttp
import msgspec

from imprint.auth.typed_data import SigningForm
from imprint.client.connection import Connection, Listing, Page, page_of
from imprint.client.transport import Query, Refusal, Unconfirmed, Unreachable, WalletNeeded
from imprint.client.typed_data import TypedData, Write, revision_typed_data, write_typed_data
from imprint.client.wallet import Wallet, settle
from imprint.client.writing_session import WritingSession
from imprint.domain.drafts.files import Action, PostAction, State
from imprint.domain.errors import Code
from imprint.domain.formats.cids import NotACid, layout_of, parse_cid
from imprint.interface.drafts import (
    Content,
    CreateBody,
    CreatedResponse,
    DeleteBody,
    DeletedDraft,
    DeletedResponse,
    Draft,
    File,
    FilesResponse,
    Published,
    ReviseBody,
    UpdateBody,
    UpdatedResponse,
)
from imprint.interface.posts import Post, RevisionRecord, RevisionResponse, RevisionsResponse


class Document(msgspec.Struct, frozen=True, rename="camel"):
    """A document's bytes, media type and entity tag."""

    data: bytes
    media_type: str
    etag: str | None = None


def verify_document(data: bytes, cid: str) -> bool:
    """Whether these bytes have this CID, in any encoding. False for text that is not a CID.

    >>> verify_document(b"hello", "bafkreibm6jg3ux5qumhcn2b3flc3tyu6dmlb4xa7u5bf44yegnrjhc4yeq")
    True
    """
    try:
        wanted = parse_cid(cid)
    except NotACid:
        return False
    return layout_of(wanted, data) is not None


ONCHAIN_POLL_SECONDS = 0.2
"""Seconds between checks whether the service has indexed a post."""

SAVE_ATTEMPTS = 5
"""Number of attempts per save while the service is busy or unreachable.

The limit does not apply if the caller passes `wait`.
"""

LONGEST_PAUSE = 60
"""Longest pause between attempts in seconds, unless the service says otherwise."""

_ENDED = (Code.WRITING_SESSION_EXPIRED, Code.WRITING_SESSION_INVALID)
"""Refusals after which a writing session can no longer save."""

_MEDIA_TYPES = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"RIFF": "image/webp"}
"""Media types of pictures, keyed by magic bytes."""

_ACCEPT_DOCUMENTS = "image/*, application/octet-stream;q=0.9, */*;q=0.8"


class SignedWrite(TypedDict):
    """The members of every signed write, as in JSON. A write sent twice takes effect only once."""

    salt: dict[str, Any]
    address: str
    signature: str
    session: NotRequired[str]


Saved = TypeVar("Saved")

Wait = Callable[[Refusal | Unreachable, float], Awaitable[bool]]
"""Waits after a failure, for the suggested seconds or for any other time.

If the function returns False, there are no more attempts.
"""


class DraftMethods(Connection):
    """Methods that write, read and list drafts and posts."""

    async def create_draft(
        self, signer: Wallet | WritingSession, content: str, *, title: str = ""
    ) -> Draft:
        """Store a new draft. Only the form `inkdao-1` signs the title, which is not stored."""
        write = Write(Action.CREATE, content=content, title=title)
        return await self._send_content(await self._sign(signer, write), write)

    async def update_draft(self, signer: Wallet | WritingSession, cid: str, content: str) -> Draft:
        """Replace a draft with a new version, which has a new CID."""
        write = Write(Action.UPDATE, cid=cid, content=content)
        return await self._send_content(await self._sign(signer, write), write)

    async def revise_post(
        self,
        wallet: Wallet,
        id: str | int,  # noqa: A002 - as in the path
        content: str,
        *,
        note: str = "",
        cid: str | None = None,
    ) -> RevisionRecord:
        """Add a corrected version to a post of the wallet's author. The note is public.

        `cid` is the CID of the post's document on the chain. If no CID is given, the service
        provides it. A correction survives a lost response and a busy service. Raises `Unconfirmed`
        if the version may have been added.
        """
        if cid is None:
            cid = (await self._read(f"/posts/{quote(str(id), safe='')}", Post)).cid
        data = revision_typed_data(
            self.facts.signing,
            self.facts.service,
            post_id=str(id),
            cid=cid,
            content=content,
            note=note,
            nonce=secrets.token_hex(16),
            timestamp=self.now(),
        )
        signature = await settle(wallet.sign_typed_data(data))
        body = ReviseBody(data.salt, wallet.address, signature, content=content)

        async def send() -> RevisionRecord:
            response = await self._request("POST", "/revise/post", query={"postId": id}, json=body)
            return response.decode(RevisionResponse).revision

        async def find_saved(refusal: Refusal) -> RevisionRecord | None:
            if refusal.problem.action != PostAction.REVISE:
                return None
            path = f"/posts/{quote(str(id), safe='')}/revisions"
            listed = (await self._read(path, RevisionsResponse)).revisions
            found = [each for each in listed if each.note == note]
            if not found:
                return None
            newest = found[0]
            return RevisionRecord(newest.number, newest.cid, newest.note, newest.created_at)

        return await self._deliver(send, find_saved, None, is_uncertain=False)

    async def save_draft(
        self,
        signer: Wallet | WritingSession,
        content: str,
        cid: str | None = None,
        *,
        on_signed: Callable[[SignedWrite], Awaitable[object] | object] | None = None,
        wait: Wait | None = None,
    ) -> Draft:
        """Save a draft, or a new version of the draft with this cid, and return its record with the
        new cid.

        Saving survives a lost response, a busy service and, if a writing session signs, a wrong
        clock. `on_signed` is called before the write is sent. A caller that stores the signed write
        can send it again after a restart with `resend_draft`. `wait` waits while the service is
        busy or unreachable, and decides whether to send the save again. Without `wait`, a save is
        sent at most five times.

        Raises `WalletNeeded` if the writing session has ended, `Unconfirmed` if the draft may have
        been saved, and otherwise the exception of the last attempt.
        """
        write = _content_write(content, cid)

        async def sign_and_deliver() -> Draft:
            signed = await self._sign(signer, write)
            if on_signed is not None:
                await settle(on_signed(signed))
            try:
                return await self._deliver_draft(signed, write, wait, is_uncertain=False)
            except WalletNeeded:
                if isinstance(signer, WritingSession):
                    signer.forget(self.facts.service)
                raise

        try:
            return await sign_and_deliver()
        except Refusal as refusal:
            # Use the service's clock, unless a wallet would have to ask its owner again.
            if refusal.time_of_service is None or not isinstance(signer, WritingSession):
                raise
            return await sign_and_deliver()

    async def resend_draft(
        self, signed: SignedWrite, content: str, cid: str | None = None, *, wait: Wait | None = None
    ) -> Draft:
        """Resend a save whose response was lost, for example after a restart.

        The save takes effect only once, no matter how often it is sent. Raises the same
        errors as `save_draft`.
        """
        write = _content_write(content, cid)
        return await self._deliver_draft(signed, write, wait, is_uncertain=True)

    async def _deliver_draft(
        self, signed: SignedWrite, write: Write, wait: Wait | None, *, is_uncertain: bool
    ) -> Draft:
        async def find_saved(refusal: Refusal) -> Draft | None:
            file = refusal.problem.file
            by_this = refusal.problem.action == write.action
            return file if by_this and isinstance(file, Draft) else None

        return await self._deliver(
            lambda: self._send_content(signed, write), find_saved, wait, is_uncertain=is_uncertain
        )

    async def _deliver(
        self,
        send: Callable[[], Awaitable[Saved]],
        find_saved: Callable[[Refusal], Awaitable[Saved | None]],
        wait: Wait | None,
        *,
        is_uncertain: bool,
    ) -> Saved:
        """Send the same body repeatedly until the service responds.

        `find_saved` returns what an earlier attempt saved, if the refusal shows that one did.
        `is_uncertain` means that an earlier attempt may have taken effect.
        """
        for attempt in itertools.count(1):
            try:
                return await send()
            except (Refusal, Unreachable) as error:
                if isinstance(error, Refusal):
                    saved = await find_saved(error)
                    if saved is not None:
                        return saved
                    _check_retriable(error, is_uncertain=is_uncertain)
                is_uncertain |= error.status != 429
                seconds = error.retry_after
                if seconds is None:
                    seconds = min(2 ** (attempt - 1), LONGEST_PAUSE)
                if wait is None and attempt < SAVE_ATTEMPTS:
                    await asyncio.sleep(seconds)
                elif wait is None or not await wait(error, seconds):
                    raise
        raise AssertionError("The last attempt returns or raises.")

    async def publish_draft(
        self,
        wallet: Wallet | WritingSession,
        cid: str,
        *,
        thumbnail: bytes,
        hashtags: Sequence[str] = (),
        thumbnail_name: str = "thumbnail",
    ) -> Published:
        """Store a draft's thumbnail and hashtags. Call `createPost` afterwards.

        Services do not accept a writing session for this operation or for `delete_draft`.
        """
        tags = ",".join(hashtags)
        write = Write(Action.PUBLISH, cid=cid, thumbnail=thumbnail, hashtags=tags)
        signed = await self._sign(wallet, write)
        form = aiohttp.FormData()
        for name, value in {**signed, "hashtags": tags}.items():
            form.add_field(name, json.dumps(value) if name == "salt" else value)
        media_type = _find_media_type(thumbnail)
        form.add_field("file", thumbnail, filename=thumbnail_name, content_type=media_type)
        query = {"cid": cid}
        response = await self._request("POST", "/publish/file", query=query, form=form)
        return response.decode(Published)

    async def delete_draft(self, wallet: Wallet | WritingSession, cid: str) -> DeletedDraft:
        """Delete a draft."""
        body = DeleteBody(**await self._sign(wallet, Write(Action.DELETE, cid=cid)))
        query = {"cid": cid}
        response = await self._request("POST", "/delete/file", query=query, json=body)
        return response.decode(DeletedResponse).draft

    async def read_draft(self, cid: str) -> Content:
        """Return the text of a draft of the logged-in wallet."""
        return await self._read("/fileByCid", Content, {"cid": cid}, signed_in=True)

    async def read_post(self, post_id: str | int, *, user: str | None = None) -> Content:
        """Return the text of a post to its author or a token holder."""
        query = {"user": self._own_address(user), "postId": str(post_id)}
        return await self._read("/fileByPostId", Content, query, signed_in=True)

    async def read_free_post(self, post_id: str | int) -> Content:
        """Return the text of a free post."""
        return await self._read("/freeFileByPostId", Content, {"postId": str(post_id)})

    async def fetch_document(
        self,
        cid: str,
        *,
        format: Literal["raw", "car"] | None = None,  # noqa: A002 - the name of the parameter
        scope: Literal["block", "entity", "all"] | None = None,
        range: str | None = None,  # noqa: A002 - the name of the header
    ) -> Document:
        """Return a public document, such as a thumbnail. `verify_document` checks its bytes.

        `range` is as in HTTP, such as `bytes=0-99`.
        """
        response = await self._request(
            "GET",
            f"/ipfs/{quote(cid, safe='')}",
            query={"format": format, "dag-scope": scope},
            accept=_ACCEPT_DOCUMENTS,
            headers={"Range": range} if range is not None else None,
        )
        headers = response.headers
        return Document(response.body, headers.get("Content-Type", ""), headers.get("ETag"))

    def list_posts_by_tags(self, tags: Sequence[str]) -> Listing[File]:
        """List published files with all of these hashtags, newest first."""
        return self._list_files("/filesByTags", {"tags": ",".join(tags)})

    def list_drafts(self, *, owner: str | None = None) -> Listing[File]:
        """List the logged-in wallet's drafts, newest first."""
        query = {"owner": self._own_address(owner)}
        return self._list_files("/pendingFilesByOwner", query, signed_in=True)

    def list_posts(self, *, cid: str | None = None) -> Listing[File]:
        """List published files, newest first, or only the file with this CID."""
        return self._list_files("/filesMetaData", {"cid": cid})

    def list_next_page(self, next_page_token: str) -> Listing[File]:
        """List files, starting from the page with this token, which may come from any list of
        files."""
        return self._list_files("/filesByNextPageToken", {"next_page_token": next_page_token})

    async def wait_for_post(self, cid: str, seconds: float | None = 60) -> File:
        """Return the file once the service has indexed its post.

        Raises TimeoutError after `seconds` seconds.
        """
        async with asyncio.timeout(seconds):
            while True:
                page = await self.list_posts(cid=cid).page()
                for file in page.items:
                    if file.keyvalues.status == State.ONCHAIN:
                        return file
                await asyncio.sleep(ONCHAIN_POLL_SECONDS)

    def build_write(self, form: str, write: Write, address: str) -> TypedData:
        """Return the typed data of a write at the current time, with a new nonce."""
        signing = self.facts.signing
        name = self.domain_name or self.facts.inkdao_domain
        if form == SigningForm.INKDAO_1 and name is not None:
            signing = msgspec.structs.replace(signing, name=name)
        return write_typed_data(
            SigningForm(form),
            signing,
            self.facts.service,
            write,
            address=address,
            nonce=secrets.token_hex(16),
            timestamp=self.now(),
        )

    async def _sign(self, signer: Wallet | WritingSession, write: Write) -> SignedWrite:
        by_session = isinstance(signer, WritingSession)
        form = SigningForm.IMPRINT_2 if by_session else self.form
        data = self.build_write(form, write, signer.address)
        signature = await settle(signer.sign_typed_data(data))
        signed = SignedWrite(salt=data.salt, address=signer.address, signature=signature)
        if isinstance(signer, WritingSession):
            signed["session"] = signer.id
        return signed

    async def _send_content(self, signed: SignedWrite, write: Write) -> Draft:
        if write.action is Action.CREATE:
            created = CreateBody(**signed, content=write.content)
            response = await self._request("POST", "/create/group", json=created)
            return response.decode(CreatedResponse).draft
        updated, query = UpdateBody(**signed, content=write.content), {"cid": write.cid}
        response = await self._request("POST", "/update/file", query=query, json=updated)
        return response.decode(UpdatedResponse).upload

    def _list_files(self, path: str, query: Query, *, signed_in: bool = False) -> Listing[File]:
        async def load(token: str | None) -> Page[File]:
            if token is None:
                page = await self._read(path, FilesResponse, query, signed_in=signed_in)
            else:
                page = await self._read(
                    "/filesByNextPageToken", FilesResponse, {"next_page_token": token}
                )
            return page_of(page.files, page.next_page_token)

        return Listing(load)


def _content_write(content: str, cid: str | None) -> Write:
    """Return the write that creates a draft, or updates the draft with this CID."""
    if cid is None:
        return Write(Action.CREATE, content=content)
    return Write(Action.UPDATE, cid=cid, content=content)


def _check_retriable(refusal: Refusal, *, is_uncertain: bool) -> None:
    """Raise the exception for a refusal, unless a retry may succeed shortly."""
    if refusal.code == Code.SIGNATURE_STALE and is_uncertain:
        # A retry with a new nonce could save it twice.
        raise Unconfirmed("It may have been saved.") from refusal
    if refusal.code in _ENDED:
        raise WalletNeeded("Sign once more to go on writing.") from refusal
    if refusal.status not in (429, 503):
        raise refusal


def _find_media_type(picture: bytes) -> str:
    for beginning, media_type in _MEDIA_TYPES.items():
        if picture.startswith(beginning):
            return media_type
    return "application/octet-stream"
