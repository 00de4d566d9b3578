"""Problem pages, which browsers get instead of problem+json."""

from collections.abc import Awaitable, Callable, Collection
from datetime import UTC
from http import HTTPStatus
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from imprint.domain.errors import Problem, Withheld
from imprint.web.http.problems import FAILURE_DETAIL, error_response
from imprint.web.http.responses import HTML_TYPE, prefers
from imprint.web.site.policy import content_policy
from imprint.web.site.templates import Templates

ProblemHandler = Callable[[Request, Any], Awaitable[Response]]
"""Responds to an exception."""

Refuse = Callable[[Response, str], Response]
"""Renders the page shown in place of a problem response, with this sentence in it."""

PAGES = frozenset({"/", "/search", "/library", "/studio", "/operator", "/docs"})
PAGE_PREFIXES = ("/p/", "/t/", "/a/", "/studio/", "/posts/", "/authors/")
"""Paths of pages, and of what sends browsers to one; a site also has pages of its operator."""

UNROUTED = {
    404: "There is nothing at this address.",
    405: "This address does not take what your browser sent.",
}
"""Messages for browsers when no endpoint was found, by status."""

WHAT_TO_DO = {
    400: "Check the address, or search for what you are looking for.",
    404: "It may have been mistyped, or moved. Search for it, or begin at the front page.",
    410: "To ask about it, write to the operator of this site.",
    429: "Please wait a minute, and load the page again.",
    451: "To ask about it, write to the operator of this site.",
    500: "Please load the page again. If it stays like this, the operator of this site finds the "
    "reason in the log.",
    503: "Please load the page again in a moment. Nothing is lost.",
}
"""Advice for readers, by status."""

HEADINGS = {
    400: "This address is not right",
    404: "There is nothing here",
    405: "This did not work",
    410: "This has been removed",
    429: "Too many requests",
    451: "This is withheld",
    500: "This did not work",
    503: "We cannot show this right now",
}

KEPT_HEADERS = ("retry-after", "allow")
"""Headers of a problem response that its page also carries."""


def wants_page(request: Request, own: Collection[str]) -> bool:
    """Whether a request comes from a browser, for a page; `own` are paths of the operator's."""
    path = request.url.path
    is_page = path in PAGES or path in own or path.startswith(PAGE_PREFIXES)
    return is_page and prefers(request, HTML_TYPE)


def page_handler(handler: ProblemHandler, refuse: Refuse, own: Collection[str]) -> ProblemHandler:
    """Return a handler that sends browsers a page, even when no endpoint was found."""

    async def respond(request: Request, error: Any) -> Response:
        response = await handler(request, error)
        if isinstance(error, HTTPException):
            detail = UNROUTED[error.status_code]
            return refuse(response, detail) if prefers(request, HTML_TYPE) else response
        return refuse(response, _explain(error)) if wants_page(request, own) else response

    return respond


def _explain(problem: Problem) -> str:
    """What a reader is told: of something withheld also why, and since when."""
    if not isinstance(problem, Withheld):
        return problem.detail
    since = problem.since.astimezone(UTC)
    said = f" {problem.statement}" if problem.statement else ""
    return f"{problem.detail} It has been so since {since.day} {since:%B %Y}.{said}"


def failure_responder(refuse: Refuse, own: Collection[str]) -> Callable[[Request], Response]:
    """Return a responder to unexpected errors; it renders the page now, so as not to fail later."""
    page = refuse(error_response(), FAILURE_DETAIL)

    def respond(request: Request) -> Response:
        return page if wants_page(request, own) else error_response()

    return respond


def problem_page(
    templates: Templates, problem: Response, detail: str, rpc_url: str | None
) -> Response:
    """Return the page shown in place of this problem response."""
    status = problem.status_code
    page = templates.render(
        "problem.html",
        status=status,
        heading=HEADINGS.get(status, HTTPStatus(status).phrase),
        detail=detail,
        advice=WHAT_TO_DO.get(status, "Begin at the front page."),
    )
    kept = {name: problem.headers[name] for name in KEPT_HEADERS if name in problem.headers}
    headers = {
        "Content-Security-Policy": content_policy(rpc_url),
        "Cache-Control": "no-store",
        "Vary": "Accept",
        **kept,
    }
    return Response(page, status, headers, HTML_TYPE)
