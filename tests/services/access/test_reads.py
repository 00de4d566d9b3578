"""Reads without HTTP: which file a caller gets, and what happens when a part does not respond."""

import threading
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.world import MovableClock

from imprint.domain.drafts.documents import SALT_LENGTH, SMALL_DOCUMENT, write_document
from imprint.domain.drafts.files import File, Network, Publication, State
from imprint.domain.errors import Code, Damaged, Problem, Unavailable, Unpaid
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid, document_cid
from imprint.domain.posts.indexed_posts import IndexedPost, Sales
from imprint.domain.posts.posts import BlockRef, PostEntry, PostFacts
from imprint.domain.posts.revisions import PostVersion, Revision
from imprint.domain.sessions import Session
from imprint.services.access.entitlement import Entitlement
from imprint.services.access.reads import Reads

AUTHOR, READER, OTHER = (Address("0x" + digits * 20) for digits in ("a1", "b2", "c3"))
NOW = datetime(2026, 1, 1, tzinfo=UTC)
SALT = bytes(SALT_LENGTH)
DOCUMENT = write_document("Words.", f"{AUTHOR}_1", SALT)
CID = document_cid(DOCUMENT)
CORRECTED = document_cid(b"corrected")
FILE = File(
    "id", "group", AUTHOR, f"{AUTHOR}_1", CID, 5, NOW, State.ONCHAIN, 1,
    publication=Publication(9, NOW, None),
)  # fmt: skip
POST = IndexedPost(
    1, 9, AUTHOR, CID, "", "Title", "", 0, 0, (), True, NOW, BlockRef(1, "0x00"), "0x01",
    Sales(0, 0), 0, has_opening=True,
)  # fmt: skip
REVISION = Revision("r", CID, 1, AUTHOR, f"{AUTHOR}_2", CORRECTED, 7, "", NOW, "{}", "0x")


@dataclass
class Shelf:
    """Stand-ins for the stores, the chain and the operator's measures, which a test configures."""

    file: File | None = FILE
    entry: PostEntry = PostEntry(AUTHOR, CID, 0)  # noqa: RUF009  a frozen value
    balances: dict[Address | None, int] = field(default_factory=dict)
    problem: Problem | None = None
    revisions: list[Revision] = field(default_factory=list)
    documents: dict[tuple[Cid, Network], bytes] = field(
        default_factory=lambda: {(CID, Network.PRIVATE): DOCUMENT}
    )
    withheld: set[Cid] = field(default_factory=set)
    hidden: bool = False
    asked: int = 0
    decrypted_in: threading.Thread | None = None
    clock: MovableClock = field(default_factory=MovableClock)

    async def file_by_cid(self, cid: Cid, session: Session | None = None) -> File | None:
        return self.file if self.file is not None and self.file.cid == cid else None

    async def file_by_post_id(self, post_id: int, session: Session | None = None) -> File | None:
        return self.file if post_id == 9 else None

    async def public_size(self, cid: Cid) -> int | None:
        return 3 if (cid, Network.PUBLIC) in self.documents else None

    async def newest_revision(self, cid: Cid) -> Revision | None:
        return self.revisions[0] if self.revisions else None

    async def find_revision(self, cid: Cid, number: int) -> Revision | None:
        return next((each for each in self.revisions if each.number == number), None)

    async def revisions_of(self, cid: Cid) -> list[Revision]:
        return self.revisions

    async def read(self, cid: Cid, network: Network) -> bytes | None:
        return self.documents.get((cid, network))

    def decrypt(self, document: bytes, wrapped_key: bytes | None, name: str) -> bytes:
        self.decrypted_in = threading.current_thread()
        return document

    async def post_facts(self, post_id: int, reader: Address | None) -> PostFacts:
        self.asked += 1
        if self.problem is not None:
            raise self.problem
        return PostFacts(self.entry, self.balances.get(reader, 0))

    async def check_file(self, file: File) -> Any:
        await self.check_document(file.cid)
        return self if self.hidden else None

    async def check_document(self, cid: Cid) -> None:
        if cid in self.withheld:
            raise Problem(Code.WITHHELD, "This is withheld.")

    async def check_missing(self, kind: object, text: str) -> None:
        if self.withheld:
            raise Problem(Code.WITHHELD, "This is withheld.")


@dataclass
class Library:
    """Reads of one post."""

    shelf: Shelf = field(default_factory=Shelf)
    entitlement: Entitlement = field(init=False)
    reads: Reads = field(init=False)

    def __post_init__(self) -> None:
        shelf: Any = self.shelf
        self.entitlement = Entitlement(shelf, self.shelf.clock.monotonic, timedelta(seconds=5))
        self.reads = Reads(shelf, shelf, shelf, shelf, self.entitlement, measures=shelf)

    async def lose_the_chain(self) -> None:
        """Let the chain respond once, and fail from then on."""
        await self.reads.free_post(9)
        self.entitlement.invalidate_all()
        self.entitlement.note_contact()
        self.shelf.problem = Unavailable.chain()


@pytest.fixture
def library() -> Library:
    return Library()


def session_of(address: Address) -> Session:
    return Session(address, NOW, "0-1", 0)


async def code_of(read: Any) -> Code:
    """Return the code of the problem that a read raises."""
    with pytest.raises(Problem) as problem:
        await read
    return problem.value.code


@pytest.mark.parametrize(
    ("state", "owner", "code"),
    [
        (State.ONCHAIN, AUTHOR, Code.NOT_FOUND),
        (State.PENDING, OTHER, Code.NOT_OWNER),
    ],
)
async def test_a_draft_can_be_read_only_by_its_owner_and_only_while_it_is_a_draft(
    library: Library, state: State, owner: Address, code: Code
) -> None:
    library.shelf.file = replace(FILE, state=state, owner=owner)
    assert await code_of(library.reads.draft(session_of(AUTHOR), CID)) is code


async def test_an_unknown_draft_is_not_found(library: Library) -> None:
    library.shelf.file = None
    assert await code_of(library.reads.draft(session_of(AUTHOR), CID)) is Code.NOT_FOUND


async def test_a_draft_that_is_being_erased_is_refused(library: Library) -> None:
    library.shelf.file = replace(FILE, state=State.PENDING)
    assert await library.reads.draft(session_of(AUTHOR), CID) == library.shelf.file
    library.shelf.withheld = {CID}
    assert await code_of(library.reads.draft(session_of(AUTHOR), CID)) is Code.WITHHELD


async def test_a_session_reads_only_as_its_own_address(library: Library) -> None:
    read = library.reads.post(session_of(READER), OTHER, 9)
    assert await code_of(read) is Code.SUBJECT_MISMATCH
    assert library.shelf.asked == 0
    assert await library.reads.post(session_of(READER), READER, 9) == FILE


async def test_a_paid_post_is_refused_with_its_price_to_everybody_but_holders(
    library: Library,
) -> None:
    library.shelf.entry = PostEntry(AUTHOR, CID, 5)
    library.shelf.balances[READER] = 1
    assert await library.reads.post_for(READER, 9) == FILE
    for read, code in (
        (library.reads.post_for(OTHER, 9), Code.NOT_ENTITLED),
        (library.reads.free_post(9), Code.NOT_FREE),
    ):
        with pytest.raises(Unpaid) as unpaid:
            await read
        assert (unpaid.value.code, unpaid.value.price) == (code, 5)
        assert unpaid.value.is_listed


async def test_a_hidden_post_is_not_listed_for_sale(library: Library) -> None:
    library.shelf.entry, library.shelf.hidden = PostEntry(AUTHOR, CID, 5), True
    with pytest.raises(Unpaid) as unpaid:
        await library.reads.post_for(OTHER, 9)
    assert not unpaid.value.is_listed


async def test_an_unknown_post_is_not_found_unless_it_was_withheld(library: Library) -> None:
    assert await code_of(library.reads.free_post(8)) is Code.NOT_FOUND
    library.shelf.withheld = {CORRECTED}
    assert await code_of(library.reads.free_post(8)) is Code.WITHHELD


@pytest.mark.parametrize(
    "entry", [PostEntry(OTHER, CID, 0), PostEntry(AUTHOR, CORRECTED, 0)], ids=["author", "cid"]
)
async def test_a_post_whose_entry_on_the_chain_does_not_match_its_file_is_not_found(
    library: Library, entry: PostEntry
) -> None:
    library.shelf.entry = entry
    assert await code_of(library.reads.free_post(9)) is Code.NOT_FOUND


async def test_a_post_that_is_free_in_the_index_is_shown_while_the_chain_is_unreachable(
    library: Library,
) -> None:
    await library.lose_the_chain()
    assert await library.reads.shown_post(POST) == FILE
    # A chain that has just failed is not queried again.
    asked = library.shelf.asked
    assert await library.reads.shown_post(POST) == FILE
    assert library.shelf.asked == asked


@pytest.mark.parametrize(
    "post",
    [replace(POST, price=5), replace(POST, cid=CORRECTED), replace(POST, author=OTHER)],
    ids=["paid", "another document", "another author"],
)
async def test_only_a_free_post_that_matches_its_file_is_shown_without_the_chain(
    library: Library, post: IndexedPost
) -> None:
    await library.lose_the_chain()
    for _ in range(2):
        assert await code_of(library.reads.shown_post(post)) is Code.CHAIN_UNAVAILABLE


async def test_the_index_is_trusted_for_an_hour_without_the_chain(library: Library) -> None:
    await library.lose_the_chain()
    library.shelf.clock.advance(3_599)
    assert await library.reads.shown_post(POST) == FILE
    library.shelf.clock.advance(1)
    assert await code_of(library.reads.shown_post(POST)) is Code.CHAIN_UNAVAILABLE


async def test_a_withheld_post_is_not_shown_without_the_chain(library: Library) -> None:
    await library.lose_the_chain()
    assert await library.reads.shown_post(POST) == FILE
    library.shelf.withheld = {CID}
    assert await code_of(library.reads.shown_post(POST)) is Code.WITHHELD


async def test_an_unreachable_database_is_reported_even_while_the_index_is_trusted(
    library: Library,
) -> None:
    await library.lose_the_chain()
    library.shelf.problem = Unavailable.database()
    assert await code_of(library.reads.shown_post(POST)) is Code.DATABASE_UNAVAILABLE


@pytest.mark.parametrize(
    "post",
    [
        replace(POST, has_opening=False),
        replace(POST, cid=CORRECTED),
        replace(POST, post_id=8),
    ],
    ids=["whole text paid", "another document", "no file"],
)
async def test_a_post_without_an_opening_is_refused_as_such(
    library: Library, post: IndexedPost
) -> None:
    assert await code_of(library.reads.opened_post(post)) is Code.NO_OPENING


async def test_the_opening_comes_from_the_newest_revision(library: Library) -> None:
    library.shelf.revisions = [REVISION]
    opened = await library.reads.opened_post(POST)
    assert (opened.cid, opened.name) == (CORRECTED, REVISION.name)
    library.shelf.withheld = {CID}
    assert await code_of(library.reads.opened_post(POST)) is Code.WITHHELD


async def test_the_opening_of_a_file_ends_at_the_more_line(library: Library) -> None:
    text = "Everybody reads this.\n\n<!--more-->\n\nOnly holders read this."
    library.shelf.documents[CID, Network.PRIVATE] = write_document(text, FILE.name, SALT)
    opening = await library.reads.opening("192.0.2.1", FILE)
    assert "Everybody" in str(opening)
    assert "Only holders" not in str(opening)
    assert await library.reads.opening("198.51.100.1", FILE) is opening
    # The result of another conversion of the same text is cached separately.
    upper = library.reads.converted("192.0.2.1", FILE, "upper", lambda text, _: text.upper())
    assert await upper == text.upper()


async def test_the_versions_of_a_post_are_its_document_and_its_revisions(library: Library) -> None:
    library.shelf.revisions = [REVISION]
    assert await library.reads.version(FILE, 0) == PostVersion(FILE)
    assert await library.reads.version(FILE, 1) == PostVersion(FILE, REVISION)
    assert await code_of(library.reads.version(FILE, 2)) is Code.UNKNOWN_REVISION


async def test_a_revision_that_is_being_erased_is_refused(library: Library) -> None:
    library.shelf.revisions, library.shelf.withheld = [REVISION], {CORRECTED}
    assert await code_of(library.reads.version(FILE, 1)) is Code.WITHHELD
    assert await code_of(library.reads.newest(FILE)) is Code.WITHHELD
    assert await library.reads.version(FILE, 0) == PostVersion(FILE)


async def test_only_revisions_by_the_author_of_a_hosted_post_are_listed(library: Library) -> None:
    library.shelf.revisions = [REVISION, replace(REVISION, owner=OTHER)]
    assert await library.reads.revisions_of(POST) == [REVISION]
    assert await library.reads.revisions_of(replace(POST, hosted=False)) == []


@pytest.mark.parametrize("length", [6, SMALL_DOCUMENT], ids=["small", "large"])
async def test_the_content_of_a_file_is_the_text_in_its_document(
    library: Library, length: int
) -> None:
    library.shelf.documents[CID, Network.PRIVATE] = write_document("x" * length, FILE.name, SALT)
    assert await library.reads.content_of(FILE) == "x" * length


@pytest.mark.parametrize(
    ("length", "is_large"), [(SMALL_DOCUMENT, False), (SMALL_DOCUMENT + 1, True)]
)
async def test_only_a_large_document_is_decoded_in_another_thread(
    library: Library, length: int, is_large: bool
) -> None:
    content = "x" * (length - len(write_document("", FILE.name, SALT)))
    document = write_document(content, FILE.name, SALT)
    assert len(document) == length
    library.shelf.documents[CID, Network.PRIVATE] = document
    assert await library.reads.content_of(FILE) == content
    assert (library.shelf.decrypted_in is not threading.current_thread()) is is_large


async def test_content_is_read_from_the_store_once(library: Library) -> None:
    assert await library.reads.content_of(FILE) == "Words."
    library.shelf.documents.clear()
    assert await library.reads.content_of(FILE) == "Words."


@pytest.mark.parametrize("stored", [b"not a document", None], ids=["damaged", "missing"])
async def test_a_damaged_or_missing_document_is_unavailable(
    library: Library, stored: bytes | None
) -> None:
    library.shelf.documents = {} if stored is None else {(CID, Network.PRIVATE): stored}
    with pytest.raises(Damaged) as damaged:
        await library.reads.content_of(FILE)
    assert damaged.value.code is Code.STORAGE_UNAVAILABLE


async def test_only_a_document_in_plaintext_is_returned_as_bytes(library: Library) -> None:
    assert await library.reads.document_of(FILE) == DOCUMENT
    encrypted = replace(FILE, wrapped_key=b"key")
    assert await code_of(library.reads.document_of(encrypted)) is Code.NOT_FOUND


@pytest.mark.parametrize(
    ("file", "price"),
    [
        (None, 0),
        (replace(FILE, publication=None), 0),
        (replace(FILE, wrapped_key=b"key"), 0),
        (FILE, 5),
    ],
    ids=["unknown", "draft", "encrypted", "paid"],
)
async def test_only_the_document_of_a_free_post_is_public(
    library: Library, file: File | None, price: int
) -> None:
    assert await library.reads.free_document(CID) == FILE
    library.entitlement.invalidate_all()
    library.shelf.file, library.shelf.entry = file, PostEntry(AUTHOR, CID, price)
    assert await library.reads.free_document(CID) is None


async def test_a_document_whose_post_has_another_author_on_the_chain_is_not_public(
    library: Library,
) -> None:
    library.shelf.entry = PostEntry(OTHER, CID, 0)
    assert await library.reads.free_document(CID) is None


async def test_the_document_of_a_withheld_post_is_refused(library: Library) -> None:
    library.shelf.withheld = {CID}
    assert await code_of(library.reads.free_document(CID)) is Code.WITHHELD


async def test_a_thumbnail_is_read_from_the_public_network(library: Library) -> None:
    assert await library.reads.public_size(CID) is None
    library.shelf.documents[CID, Network.PUBLIC] = b"png"
    assert await library.reads.public_size(CID) == 3
    assert await library.reads.public_document(CID) == b"png"
