"""The pages for people: lists of posts, a post, the library, the Studio, and their assets."""

import secrets
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from imprint.domain.errors import Code, Refusal
from imprint.services.pages import Pages
from imprint.services.posts import ListRequest, Posts
from imprint.web.requests import canonical_post_id
from imprint.web.responses import PRIVATE, SHORT_LIVED
from imprint.web.site.assets import Assets
from imprint.web.site.policy import content_policy
from imprint.web.site.post_html import post_html
from imprint.web.site.templates import Templates

FOR_EVER = "public, max-age=31536000, immutable"
"""For assets, whose names change with their content."""


@dataclass(frozen=True, slots=True)
class SiteRoutes:
    """Each page calls one service and renders one template."""

    posts: Posts
    pages: Pages
    assets: Assets
    templates: Templates
    rpc_url: str | None

    async def front(self, request: Request) -> Response:
        listed = await self.posts.list(ListRequest({}, None, None, None))
        return self._page("posts.html", heading="Newest posts", posts=listed.posts)

    async def post(self, request: Request) -> Response:
        found = await self.pages.post(canonical_post_id(request.path_params["id"]))
        text = None if found.text is None else post_html(found.text)
        return self._page("post.html", post=found.post, text=text)

    async def library(self, request: Request) -> Response:
        return self._page("library.html")

    async def studio(self, request: Request) -> Response:
        nonce = secrets.token_urlsafe(16)
        page = self.templates.render("studio.html", style_nonce=nonce)
        return self._html(page, content_policy(self.rpc_url, nonce), PRIVATE)

    async def asset(self, request: Request) -> Response:
        asset = self.assets.find(request.path_params["name"])
        if asset is None:
            raise Refusal(Code.NOT_FOUND, "There is no such file.")
        headers = {"Cache-Control": FOR_EVER, "Vary": "Accept-Encoding"}
        content = asset.content
        if asset.compressed is not None and "gzip" in request.headers.get("accept-encoding", ""):
            content, headers["Content-Encoding"] = asset.compressed, "gzip"
        return Response(content, 200, headers, asset.media_type)

    def _page(self, template: str, **values: object) -> Response:
        page = self.templates.render(template, **values)
        return self._html(page, content_policy(self.rpc_url), SHORT_LIVED)

    def _html(self, page: str, policy: str, cache: str) -> Response:
        headers = {"Content-Security-Policy": policy, "Cache-Control": cache}
        return Response(page, 200, headers, "text/html")
