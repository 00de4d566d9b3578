"""Problem pages, which browsers get instead of problem+json."""

import re
from collections.abc import Awaitable, Callable, Collection
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
from imprint.web.site.words import page_words, write_day

ProblemHandler = Callable[[Request, Any], Awaitable[Response]]
"""Handler that responds to an exception."""

Refuse = Callable[[Response, str], Response]
"""Renders the page shown in place of a problem response, with a sentence about the problem."""

PAGES = frozenset({"/", "/search", "/library", "/studio", "/operator", "/docs"})
PAGE_PATHS = re.compile(r"/(?:p|t|a|studio)/.*|/(?:posts|authors)/[^/]*", re.DOTALL)
"""Paths of pages, and of routes that redirect browsers to pages.

A site also has its operator's pages.
"""

KEPT_HEADERS = ("retry-after", "allow", "payment-required", "www-authenticate")
"""Headers of a problem response that its page also carries."""


def wants_page(request: Request, own: Collection[str]) -> bool:
    """Whether a browser requests a page. `own` contains the paths of the operator's pages."""
    path: str = request.scope["path"]
    is_page = path in PAGES or path in own or PAGE_PATHS.fullmatch(path) is not None
    return is_page and prefers(request, HTML_TYPE)


def page_handler(handler: ProblemHandler, refuse: Refuse, own: Collection[str]) -> ProblemHandler:
    """Return a handler that sends browsers a page, even when no endpoint was found."""

    async def respond(request: Request, error: Any) -> Response:
        response = await handler(request, error)
        if isinstance(error, HTTPException):
            detail = page_words().text(f"problem.detail.{error.status_code}")
            return refuse(response, detail) if prefers(request, HTML_TYPE) else response
        return refuse(response, _explain(error)) if wants_page(request, own) else response

    return respond


def _explain(problem: Problem) -> str:
    """Return the sentence shown to a reader. For a withheld post, it says why and since when."""
    if not isinstance(problem, Withheld):
        return problem.detail
    since = page_words().text("problem.since", day=write_day(problem.since))
    return f"{problem.detail} {since} {problem.statement}".rstrip()


def failure_responder(refuse: Refuse, own: Collection[str]) -> Callable[[Request], Response]:
    """Return a responder to unexpected errors. Its page is rendered now, so that it cannot fail."""
    page = refuse(error_response(), FAILURE_DETAIL)

    def respond(request: Request) -> Response:
        return page if wants_page(request, own) else error_response()

    return respond


def problem_page(
    templates: Templates, problem: Response, detail: str, rpc_url: str | None
) -> Response:
    """Return the page shown in place of this problem response."""
    status, words = problem.status_code, page_words()
    heading, advice = f"problem.heading.{status}", f"problem.advice.{status}"
    page = templates.render(
        "problem.html",
        status=status,
        heading=words.text(heading) if heading in words else HTTPStatus(status).phrase,
        detail=detail,
        advice=words.text(advice if advice in words else "problem.advice.other"),
    )
    kept = {name: problem.headers[name] for name in KEPT_HEADERS if name in problem.headers}
    headers = {
        "Content-Security-Policy": content_policy(rpc_url),
        "Cache-Control": "no-store",
        "Vary": "Accept",
        **kept,
    }
    return Response(page, status, headers, HTML_TYPE)
