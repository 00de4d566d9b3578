"""The scripts, styles and fonts of pages; the documentation needs them without a site, too."""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from imprint.domain.errors import Code, Refusal
from imprint.web.site.assets import Assets
from imprint.web.site.rendered_page import accepts_gzip

FOR_EVER = "public, max-age=31536000, immutable"
"""For assets, whose names change with their content."""


@dataclass(frozen=True, slots=True)
class AssetRoutes:
    """Files that are built and named by their content."""

    assets: Assets

    async def asset(self, request: Request) -> Response:
        """`/assets/{name}`: a script, style sheet, font or picture of the pages."""
        asset = self.assets.find(request.path_params["name"])
        if asset is None:
            raise Refusal(Code.NOT_FOUND, "There is no such file.")
        headers = {"Cache-Control": FOR_EVER, "Vary": "Accept-Encoding"}
        content = asset.content
        if asset.compressed is not None and accepts_gzip(request):
            content, headers["Content-Encoding"] = asset.compressed, "gzip"
        return Response(content, 200, headers, asset.media_type)
