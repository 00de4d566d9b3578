"""The body of every error response."""

from typing import Annotated

from msgspec import UNSET, Struct, UnsetType

from imprint.domain.errors import Code
from imprint.interface.drafts import Draft
from imprint.interface.values import Count, doc

FAILURE = "internal_error"
"""The code of an unexpected error, which a client cannot resolve."""

ProblemCode = Annotated[
    str,
    doc(
        "What is wrong, for programs. A code never changes its meaning, and a later version may "
        "add codes.",
        title="ProblemCode",
        enum=[*(code.value for code in Code), FAILURE],
    ),
]


class Problem(Struct, frozen=True, omit_defaults=True):
    """The body of every error response (RFC 9457).

    Only a problem with the code `nonce_used` has an `action` (`create`, `update`, `publish`,
    `delete`, `profile`, `revise`, `writing_session`, `login` or `read`) and a `file`: the
    action that spent the nonce, and the record that it produced, or `null`. If the action is not
    that of the request, the request did not produce the file.
    """

    type: Annotated[str, doc("A URI that identifies the code.", "^urn:imprint:problem:[a-z_]+$")]
    title: Annotated[str, doc("The reason phrase of the status.")]
    status: Annotated[int, doc("The status of the response.")]
    detail: Annotated[str, doc("What is wrong, for people.")]
    code: ProblemCode
    error: Annotated[str, doc("The same sentence as `detail`.")]
    action: Annotated[str | None, doc("With `nonce_used`: the action that spent the nonce.")] = None
    file: Draft | UnsetType | None = UNSET
    now: Annotated[
        Count | None, doc("With `signature_stale`: the time of the service in Unix seconds.")
    ] = None
    statement: Annotated[
        str | None, doc("With `withheld` and `removed`: what the operator says about it.")
    ] = None
    since: Annotated[
        str | None, doc("With `withheld` and `removed`: since when, ISO 8601 in UTC.")
    ] = None
