"""The operation of the public gateway."""

from imprint.domain.refusals import Code
from imprint.web.manual.operations import (
    IF_NONE_MATCH,
    STORED_CODES,
    Answer,
    Operation,
    Parameter,
    Topic,
)
from imprint.web.manual.samples import THUMBNAIL_CID

FETCH_DOCUMENT = Operation(
    "fetchDocument",
    "get",
    "/ipfs/{cid}",
    Topic.CONTENT,
    "Fetch a public document",
    "The thumbnail of a file. It never changes, so it may be cached for ever, and `HEAD` tells of "
    "it without sending it. The cid of a draft or a post is not found here, in no format.\n\n"
    "This is a trustless gateway of IPFS: with `format=raw` the answer is the root block, with "
    "`format=car` all blocks, depth first, in a CAR of version 1. `Accept` with the media type "
    "asks for the same, and its parameter `dups=n` for each block only once; `format` wins. "
    "With `Cache-Control: only-if-cached` what is not here is 412 rather than 404.",
    Answer(
        "The document.",
        "Picture",
        ("image/png", "image/jpeg"),
        tagged=True,
        others=(
            ("application/vnd.ipld.raw", "Block"),
            ("application/vnd.ipld.car", "Blocks"),
            ("application/octet-stream", "Bytes"),
        ),
        ranged=True,
    ),
    (
        Code.INVALID_REQUEST,
        Code.INVALID_CID,
        Code.NOT_CACHED,
        Code.RANGE_NOT_SATISFIABLE,
        *STORED_CODES,
    ),
    parameters=(
        Parameter("cid", "Cid", "The `thumbnailCid` of a publication.", THUMBNAIL_CID, "path"),
        Parameter("format", "Format", "Another representation than the picture.", required=False),
        Parameter("dag-scope", "Scope", "How much a CAR contains.", required=False),
        IF_NONE_MATCH,
        Parameter(
            "Range",
            "Range",
            "The part that is wanted, of the picture or of the root block. Only one range is cut "
            "out; whoever asks for several gets the whole, as with every other unit.",
            place="header",
            required=False,
        ),
        Parameter(
            "If-Range",
            "EntityTags",
            "The entity tag that the part must belong to; otherwise the whole is sent.",
            place="header",
            required=False,
        ),
        Parameter(
            "Cache-Control",
            "CacheDirective",
            "`only-if-cached` asks for what is here already.",
            place="header",
            required=False,
        ),
    ),
)
