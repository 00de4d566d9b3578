"""The endpoint that tells where to report a weakness (RFC 9116)."""

from dataclasses import dataclass
from datetime import timedelta

from starlette.requests import Request
from starlette.responses import Response

from imprint.domain.refusals import Code, Refusal
from imprint.ports import Clock
from imprint.web.routes.about import SETTLED

GOOD_FOR = timedelta(days=180)
"""How long the contact may be believed; the standard asks for less than a year."""


@dataclass(frozen=True, slots=True)
class ContactRoutes:
    """The operator's contact, if there is one."""

    contact: str | None
    clock: Clock

    async def show(self, request: Request) -> Response:
        if self.contact is None:
            raise Refusal(Code.NOT_FOUND, "The operator of this service has named no contact.")
        # By whole days, so that it is the same text for everybody who looks today.
        expires = (self.clock.now() + GOOD_FOR).strftime("%Y-%m-%dT00:00:00Z")
        text = f"Contact: {self.contact}\nExpires: {expires}\n"
        return Response(text, headers={"Cache-Control": SETTLED}, media_type="text/plain")
