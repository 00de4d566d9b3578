"""From a draft to a reader, with the client that openapi-python-client generates."""

import sys
from io import BytesIO
from pathlib import Path
from typing import TypeVar

from imprint_client import AuthenticatedClient, Client
from imprint_client.api.content import read_draft, read_free_post, read_post
from imprint_client.api.drafts import create_draft, delete_draft, publish_draft, update_draft
from imprint_client.api.lists import list_drafts, list_posts, list_posts_by_tags
from imprint_client.api.service import get_service_facts
from imprint_client.api.sessions import login
from imprint_client.models import (
    CreateBody,
    DeleteBody,
    FileRecord,
    LoginBody,
    Problem,
    PublishFileTypedData,
    PublishForm,
    ReadRecord,
    UpdateBody,
)
from imprint_client.models.problem_code import ProblemCode
from imprint_client.types import File
from wallet import Wallet, until

T = TypeVar("T")

PRICE = 10**15
URL, COVER = sys.argv[1], Path(sys.argv[2])


def taken(response: T | Problem | None) -> T:
    """The body of a response; fails if the service refused."""
    if response is None or isinstance(response, Problem):
        raise AssertionError(response)
    return response


def code_of(response: object) -> ProblemCode:
    """The code of a response; fails if the service did not refuse."""
    assert isinstance(response, Problem), response
    return response.code


client = Client(base_url=URL, raise_on_unexpected_status=True)
facts = taken(get_service_facts.sync(client=client)).to_dict()
alice, bob = Wallet(facts, 5), Wallet(facts, 6)


def sign_in(wallet: Wallet) -> AuthenticatedClient:
    body = LoginBody.from_dict(wallet.sign_login(URL))
    session = taken(login.sync(client=client, body=body))
    assert session.address == wallet.address.lower()
    return AuthenticatedClient(base_url=URL, token=session.token)


def publish(content: str) -> tuple[str, str]:
    body = CreateBody.from_dict(alice.sign_write("create") | {"content": "A first line."})
    draft = taken(create_draft.sync(client=client, body=body)).updated_upload
    repeated = create_draft.sync(client=client, body=body)
    assert isinstance(repeated, Problem)
    assert repeated.code == "nonce_used"
    assert isinstance(repeated.file, FileRecord)
    assert repeated.file.cid == draft.cid

    update = UpdateBody.from_dict(alice.sign_update(draft.cid, content) | {"content": content})
    upload = taken(update_draft.sync(client=client, cid=draft.cid, body=update)).upload
    assert upload.group_id == draft.group_id

    signed = alice.sign_write("publish")
    form = PublishForm(
        file=File(BytesIO(COVER.read_bytes()), "cover.png", "image/png"),
        salt=PublishFileTypedData.from_dict(signed["salt"]),
        address=signed["address"],
        signature=signed["signature"],
        hashtags="Python, #Ink",
    )
    published = taken(publish_draft.sync(client=client, cid=upload.cid, body=form))
    return upload.cid, published.thumbnail_cid


def post(cid: str, thumbnail: str, price: int) -> str:
    post_id = alice.create_post(cid, thumbnail, price, ["python", "ink"])

    def find() -> ReadRecord | None:
        (file,) = taken(list_posts.sync(client=client, cid=cid)).files
        return file if file.keyvalues.status == "onchain" else None

    record = until(find)
    assert (record.post_id, record.thumbnail_cid) == (post_id, thumbnail)
    assert record.hashtags == ["python", "ink"]
    return post_id


author = sign_in(alice)
cid, thumbnail = publish("A better line.")
drafts = taken(list_drafts.sync(client=author, owner=alice.address)).files
assert cid in [file.cid for file in drafts]
assert taken(read_draft.sync(client=author, cid=cid)).content == "A better line."
stranger = AuthenticatedClient(base_url=URL, token="no-session")
assert code_of(read_draft.sync(client=stranger, cid=cid)) == "session_invalid"

paid = post(cid, thumbnail, PRICE)
free = post(*publish("A line for all."), 0)
tagged = taken(list_posts_by_tags.sync(client=client, tags="#python"))
assert {paid, free} <= {file.post_id for file in tagged.files}

reader = sign_in(bob)
assert code_of(read_post.sync(client=reader, user=bob.address, post_id=paid)) == "not_entitled"
bob.buy_post(paid, PRICE)
read = taken(read_post.sync(client=reader, user=bob.address, post_id=paid))
assert read.content == "A better line."

assert taken(read_free_post.sync(client=client, post_id=free)).content == "A line for all."
assert code_of(read_free_post.sync(client=client, post_id=paid)) == "not_free"
removal = DeleteBody.from_dict(alice.sign_write("delete"))
assert code_of(delete_draft.sync(client=client, cid=cid, body=removal)) == "already_onchain"
print("The walk is complete.")
