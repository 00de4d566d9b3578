"""Machine-readable pages: a post as Markdown, `llms.txt`, `robots.txt` and the sitemap."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from imprint.domain.formats.coins import format_ether
from imprint.domain.formats.instants import format_instant
from imprint.domain.posts.feeds import PRIVATE_FEEDS
from imprint.domain.posts.indexed_posts import IndexedPost
from imprint.ports.post_index import PostAddress
from imprint.services.site.pages import ShownPost
from imprint.web.api.feed_links import FeedLinks
from imprint.web.http.escapes import markdown_line

CLOSED = (
    "/me/",
    PRIVATE_FEEDS,
    "/auth/",
    "/create/",
    "/update/",
    "/publish/",
    "/delete/",
    "/webhook/",
    "/writing/",
    "/search",
    "/studio",
    "/library",
    "/operator",
)
"""Paths that no crawler needs: writes, search results, and the pages of one reader."""

_XML = '<?xml version="1.0" encoding="utf-8"?>\n'
_SITEMAPS = "http://www.sitemaps.org/schemas/sitemap/0.9"


@dataclass(frozen=True, slots=True)
class MachinePages:
    """The pages of a service; `links` are its addresses, chain and contract."""

    links: FeedLinks

    def post(self, shown: ShownPost, text: str | None) -> str:
        """A post with this Markdown; if it is not free, how to buy it."""
        post = shown.post
        lines = [f"# {markdown_line(post.title) or f'Post {post.post_id}'}", ""]
        lines.append(f"By `{post.author}`, {post.created_at:%Y-%m-%d}")
        if post.hashtags:
            tags = " ".join(f"#{markdown_line(tag)}" for tag in post.hashtags)
            lines += ["", f"Tags: {tags}"]
        if description := markdown_line(post.description):
            lines += ["", description]
        rest = self._access(shown) if text is None else ["---", "", text]
        return "\n".join([*lines, "", *rest, ""])

    def _access(self, shown: ShownPost) -> Iterator[str]:
        post, links = shown.post, self.links
        if not post.hosted:
            yield "The text of this post is not stored at this service, and not sold here."
            return
        if shown.price is None:
            yield "The post is not free any more; its price has just been changed."
        else:
            yield f"Price: {format_ether(shown.price)} ({shown.price} wei)"
        yield ""
        yield "To read it:"
        yield ""
        yield (
            f"1. Call `subscribePost({post.post_id})` of the contract `{links.contract}` on the "
            f"chain with the id {links.chain_id}, and send the price with the call. The contract's "
            f"interface is at {links.service}/.well-known/marketplace.json."
        )
        yield f"2. Log in with the wallet that bought it: `POST {links.service}/auth/login`."
        yield (
            f"3. `GET {links.service}/posts/{post.post_id}/content` with the session returns the "
            "text."
        )

    def llms(self, posts: Sequence[IndexedPost]) -> str:
        """`llms.txt`: what the service is, and where to find everything."""
        links, at = self.links, self.links.service
        lines = [
            f"# {markdown_line(self.links.name)}",
            "",
            "> A publishing service for work that readers own. Authors publish posts on a "
            "marketplace contract; free posts are readable by everybody, and the others by those "
            "who hold their token.",
            "",
            f"The contract is `{links.contract}` on the chain with the id {links.chain_id}.",
            "",
            "## Lists",
            "",
            f"- [Posts]({at}/posts): JSON, with filters, search and pages",
            f"- [Totals]({at}/stats): JSON, the last 90 days",
            f"- [Newest posts, Atom]({at}/feeds/posts.atom)",
            f"- [Newest posts, JSON Feed]({at}/feeds/posts.json)",
            f"- [Sitemap]({at}/sitemap.xml)",
            "",
            "A post is Markdown at `/posts/{id}.md`, JSON at `/posts/{id}` and a page for people "
            "at `/p/{id}`. Feeds of a hashtag are at `/feeds/tags/{tag}.atom`, those of an author "
            "at `/feeds/authors/{address}.atom`; both exist as `.json`, too.",
            "",
            "## Documentation",
            "",
            f"- [OpenAPI description]({at}/openapi.json)",
            f"- [Documentation]({at}/docs)",
            f"- [Parameters of this service]({at}/.well-known/imprint.json)",
            f"- [Contract]({at}/.well-known/marketplace.json)",
            "",
            "## Newest posts",
            "",
        ]
        lines += [self._item(post) for post in posts] or ["There are no posts yet."]
        return "\n".join([*lines, ""])

    def _item(self, post: IndexedPost) -> str:
        title = markdown_line(post.title) or f"Post {post.post_id}"
        price = "free" if post.free else format_ether(post.price)
        offer = price if post.hosted else "not stored here"
        return f"- [{title}]({self.links.service}/posts/{post.post_id}.md): {offer}"

    def robots(self) -> str:
        """`robots.txt`."""
        closed = "".join(f"Disallow: {path}\n" for path in CLOSED)
        return f"User-agent: *\n{closed}Allow: /\n\nSitemap: {self.links.service}/sitemap.xml\n"

    def sitemap_index(self, starts: Sequence[int]) -> str:
        """The index of the sitemap."""
        pages = "".join(
            f"<sitemap><loc>{self.links.service}/sitemaps/{start + 1}.xml</loc></sitemap>\n"
            for start in starts
        )
        return f'{_XML}<sitemapindex xmlns="{_SITEMAPS}">\n{pages}</sitemapindex>\n'

    def sitemap(self, posts: Sequence[PostAddress]) -> str:
        """A page of the sitemap."""
        urls = "".join(
            f"<url><loc>{self.links.page(post.post_id)}</loc>"
            f"<lastmod>{format_instant(post.created_at)}</lastmod></url>\n"
            for post in posts
        )
        return f'{_XML}<urlset xmlns="{_SITEMAPS}">\n{urls}</urlset>\n'
