"""The operations of readers: contents and lists."""

from imprint.domain.refusals import Code
from imprint.web.manual.fetching import FETCH_DOCUMENT
from imprint.web.manual.operations import (
    EVERYWHERE,
    IF_NONE_MATCH,
    SESSION_CODES,
    STORED_CODES,
    Answer,
    Operation,
    Parameter,
    Topic,
)
from imprint.web.manual.samples import CID, OWNER, PAGE_TOKEN, POST_ID, TAGS

_POST_ID = Parameter(
    "postId", "PostId", "The post's id, which is its token id in the marketplace.", POST_ID
)

_LIST_CODES = (Code.DATABASE_UNAVAILABLE, *EVERYWHERE)
_POST_CODES = (Code.INVALID_POST_ID, Code.CHAIN_UNAVAILABLE, *STORED_CODES)

READ_DRAFT = Operation(
    "readDraft",
    "get",
    "/fileByCid",
    Topic.CONTENT,
    "Read a draft",
    "The content of one of the reader's own drafts. A file that is `onchain` is not found here: "
    "read it as a post.",
    Answer("The content and its record.", "DraftAnswer", tagged=True),
    (Code.INVALID_CID, Code.NOT_OWNER, *SESSION_CODES, *STORED_CODES),
    parameters=(Parameter("cid", "Cid", "The draft's cid.", CID), IF_NONE_MATCH),
    needs_session=True,
)

READ_POST = Operation(
    "readPost",
    "get",
    "/fileByPostId",
    Topic.CONTENT,
    "Read a post",
    "The content of a post, for its author, for everybody who holds its ERC-6909 token, and for "
    "everybody with a session if its price is zero. The marketplace is asked at each request; "
    "if it cannot be asked the answer is 503, never a guess.",
    Answer("The content and its record.", "PostAnswer", tagged=True),
    (
        Code.INVALID_ADDRESS,
        Code.SUBJECT_MISMATCH,
        Code.NOT_ENTITLED,
        *SESSION_CODES,
        *_POST_CODES,
    ),
    parameters=(
        Parameter("user", "Address", "The reader: the address of the session.", OWNER),
        _POST_ID,
        IF_NONE_MATCH,
    ),
    needs_session=True,
)

READ_FREE_POST = Operation(
    "readFreePost",
    "get",
    "/freeFileByPostId",
    Topic.CONTENT,
    "Read a free post",
    "The content of a post whose price on the chain is zero now, for everybody.",
    Answer("The content and its record.", "PostAnswer", tagged=True),
    (Code.NOT_FREE, *_POST_CODES),
    parameters=(_POST_ID, IF_NONE_MATCH),
)

LIST_BY_TAGS = Operation(
    "listByTags",
    "get",
    "/filesByTags",
    Topic.LISTS,
    "List posts by hashtags",
    "Posts that carry all of the given hashtags, newest first, up to 9.",
    Answer("A page of records.", "TaggedFilesAnswer"),
    (Code.INVALID_TAGS, *_LIST_CODES),
    parameters=(Parameter("tags", "Hashtags", "Hashtags, separated by commas.", TAGS),),
)

LIST_DRAFTS = Operation(
    "listDrafts",
    "get",
    "/pendingFilesByOwner",
    Topic.LISTS,
    "List one's own drafts",
    "The reader's drafts, newest first, up to 12. The token of its next page is good for 15 "
    "minutes, and never longer than the session.",
    Answer("A page of records.", "DraftsAnswer"),
    (Code.INVALID_ADDRESS, Code.SUBJECT_MISMATCH, *SESSION_CODES, *_LIST_CODES),
    parameters=(Parameter("owner", "Address", "The address of the session.", OWNER),),
    needs_session=True,
)

LIST_ON = Operation(
    "listOn",
    "get",
    "/filesByNextPageToken",
    Topic.LISTS,
    "Go on with a list",
    "The next page of any list, up to 9 files. The token says which list it was and where it "
    "stopped, and is itself the permission to go on: no session is needed. Every file is seen "
    "exactly once, whatever is written meanwhile.",
    Answer("A page of records.", "FilesAnswer"),
    (Code.INVALID_PAGE_TOKEN, *_LIST_CODES),
    parameters=(
        Parameter(
            "next_page_token",
            "PageToken",
            "The `next_page_token` of the page before; never one that was made up.",
            PAGE_TOKEN,
        ),
    ),
)

LIST_METADATA = Operation(
    "listMetadata",
    "get",
    "/filesMetaData",
    Topic.LISTS,
    "List the newest posts, or one file",
    "Without `cid`, the newest posts, up to 9. With `cid`, the record of that file, draft or "
    "post, as a list of one.",
    Answer("A page of records.", "FilesAnswer"),
    (Code.INVALID_CID, Code.NOT_FOUND, *_LIST_CODES),
    parameters=(Parameter("cid", "Cid", "The cid of one file.", CID, required=False),),
)

READ_OPERATIONS = (
    READ_DRAFT,
    READ_POST,
    READ_FREE_POST,
    FETCH_DOCUMENT,
    LIST_BY_TAGS,
    LIST_DRAFTS,
    LIST_ON,
    LIST_METADATA,
)
"""Everything that is only asked for."""
