"""A walk from a draft to a reader, with httpx and models from datamodel-code-generator."""

import sys
from pathlib import Path
from typing import Any, TypeVar

import httpx
from imprint_models import (
    ContentResponse,
    CreateBody,
    CreatedResponse,
    Facts,
    FilesResponse,
    FileStatus,
    LoginBody,
    Problem,
    ProblemCode,
    PublishedResponse,
    PublishFileTypedData,
    ReadRecord,
    Session,
    TaggedFilesResponse,
    UpdateBody,
    UpdatedResponse,
)
from pydantic import BaseModel
from wallet import Wallet, until

Model = TypeVar("Model", bound=BaseModel)

PRICE = 10**15
URL, COVER = sys.argv[1], Path(sys.argv[2])
http = httpx.Client(base_url=URL)


def taken(response: httpx.Response, model: type[Model]) -> Model:
    """Return the body of a response. Fails if the request was refused."""
    assert response.status_code == 200, response.text
    return model.model_validate_json(response.content)


def code_of(response: httpx.Response) -> ProblemCode:
    """Return the error code of a response. Fails if the request was not refused."""
    problem = Problem.model_validate_json(response.content)
    assert problem.status == response.status_code >= 400
    return problem.code


def send(path: str, body: BaseModel, **query: str) -> httpx.Response:
    return http.post(path, params=query, json=body.model_dump(mode="json", exclude_none=True))


facts = taken(http.get("/.well-known/imprint.json"), Facts).model_dump()
alice, bob = Wallet(facts, 7), Wallet(facts, 8)


def sign_in(wallet: Wallet) -> dict[str, str]:
    body = LoginBody.model_validate(wallet.sign_login(URL))
    session = taken(send("/auth/login", body), Session)
    return {"Authorization": f"Bearer {session.token}"}


def publish(content: str) -> tuple[str, str]:
    body = CreateBody.model_validate(alice.sign_write("create") | {"content": "A first line."})
    draft = taken(send("/create/group", body), CreatedResponse).updatedUpload
    assert code_of(send("/create/group", body)) is ProblemCode.nonce_used
    update = UpdateBody.model_validate(alice.sign_update(draft.cid, content) | {"content": content})
    upload = taken(send("/update/file", update, cid=draft.cid), UpdatedResponse).upload

    signed = alice.sign_write("publish")
    salt = PublishFileTypedData.model_validate(signed["salt"])
    parts: dict[str, Any] = {
        "file": ("cover.png", COVER.read_bytes(), "image/png"),
        "salt": ("blob", salt.model_dump_json(exclude_none=True), "application/json"),
    }
    texts = {"address": signed["address"], "signature": signed["signature"], "hashtags": "Models"}
    response = http.post("/publish/file", params={"cid": upload.cid}, data=texts, files=parts)
    return upload.cid, taken(response, PublishedResponse).thumbnailCid


def post(cid: str, thumbnail: str, price: int) -> str:
    post_id = alice.create_post(cid, thumbnail, price, ["models"])

    def find() -> ReadRecord | None:
        (file,) = taken(http.get("/filesMetaData", params={"cid": cid}), FilesResponse).files
        return file if file.keyvalues.status is FileStatus.onchain else None

    assert until(find).post_id == post_id
    return post_id


def read(path: str, headers: dict[str, str] | None = None, **query: str) -> httpx.Response:
    return http.get(path, params=query, headers=headers)


author = sign_in(alice)
cid, thumbnail = publish("A better line.")
drafts = taken(read("/pendingFilesByOwner", author, owner=alice.address), FilesResponse).files
assert cid in [file.cid for file in drafts]
assert taken(read("/fileByCid", author, cid=cid), ContentResponse).content == "A better line."
assert code_of(read("/fileByCid", cid=cid)) is ProblemCode.session_missing

paid = post(cid, thumbnail, PRICE)
free = post(*publish("A line for all."), 0)
tagged = taken(read("/filesByTags", tags="models"), TaggedFilesResponse)
assert {paid, free} <= {file.post_id for file in tagged.files}

reader = sign_in(bob)
wanted = {"user": bob.address, "postId": paid}
assert code_of(read("/fileByPostId", reader, **wanted)) is ProblemCode.not_entitled
bob.buy_post(paid, PRICE)
assert taken(read("/fileByPostId", reader, **wanted), ContentResponse).content == "A better line."

assert taken(read("/freeFileByPostId", postId=free), ContentResponse).content == "A line for all."
assert code_of(read("/freeFileByPostId", postId=paid)) is ProblemCode.not_free
print("The walk is complete.")
