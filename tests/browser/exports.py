"""Exports as other services write them, and helpers that import them in the Studio."""

import hashlib
import json
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from playwright.sync_api import Locator, Page, expect
from tests.browser.accounts import Account

FIXTURES = Path(__file__).parents[2] / "site" / "studio" / "import" / "fixtures"
PICTURE = (FIXTURES / "blog/images/oven.png").read_bytes()

TITLE = "Bread for the slow"
TYPO = "The ovven needs three hours."
PAID = "Knead the dough at midnight."
"""The only post of each export has these three texts. `PAID` is in its paid part."""


@dataclass(frozen=True, slots=True)
class Export:
    """The files of an export with one post, and the texts that the Studio shows about them."""

    format: str
    """The name of the format that the Studio recognises."""
    files: list[Path]
    origin: str | None = None
    """The sentence in the draft that says where the post was first published."""
    remark: str | None = None
    """The Studio's remark on the post before it becomes a draft."""
    has_line: bool = False
    """Whether the export says where the paid part begins."""


def export_markdown(folder: Path, _: Account) -> Export:
    path = _write(folder, "bread.md", f"# {TITLE}\n\n{TYPO}\n\n{PAID}\n")
    return Export("Markdown", [path])


def export_jekyll(folder: Path, _: Account) -> Export:
    """A Jekyll site with one post, and a page in its repository that is not a post."""
    front = (
        f"---\nlayout: post\ntitle: {TITLE}\ncategories: bread slow\npermalink: /bread.html\n---"
    )
    picture = "![The oven]({{ site.baseurl }}/images/oven.png)"
    _write(folder, "site/_posts/2018-8-9-bread.md", f"{front}\n\n{TYPO}\n\n{picture}\n\n{PAID}\n")
    _write(folder, "site/images/oven.png", PICTURE)
    _write(folder, "site/README.md", "# How to build this site\n")
    said = "Originally published on 9 August 2018"
    return Export("Markdown", [folder / "site"], said, "1 picture inside")


def export_hugo(folder: Path, _: Account) -> Export:
    """A Hugo page bundle with TOML front matter and a picture."""
    front = (
        f'+++\ntitle = "{TITLE}"\ndate = 2020-02-03T04:05:06Z\ntags = ["bread"]\ndraft = false\n+++'
    )
    figure = '{{< figure src="oven.png" alt="The oven" >}}'
    text = f"{front}\n\n{TYPO}\n\n{figure}\n\n<!--more-->\n\n{PAID}\n"
    _write(folder, "site/content/posts/bread/index.md", text)
    _write(folder, "site/content/posts/bread/oven.png", PICTURE)
    _write(folder, "site/content/posts/_index.md", "---\ntitle: All posts\n---\n")
    said = "Originally published on 3 February 2020"
    return Export("Markdown", [folder / "site"], said, "1 picture inside", has_line=True)


def export_obsidian(folder: Path, _: Account) -> Export:
    """An Obsidian vault with a note whose file is named after its title."""
    front = "---\ntags:\n  - bread\naliases: []\n---"
    text = f"{front}\n{TYPO}\n\n![[oven.png|300]]\n\n%%ask again%%\n\n[[Salt|Salted]]. {PAID}\n"
    _write(folder, f"vault/{TITLE}.md", text)
    _write(folder, "vault/files/oven.png", PICTURE)
    _write(folder, "vault/.obsidian/app.json", "{}")
    return Export("Markdown", [folder / "vault"], None, "1 picture inside")


def export_ghost(folder: Path, _: Account) -> Export:
    """Ghost's JSON file, and a zip of the pictures."""
    html = (
        f"<p>{TYPO}</p>"
        '<figure class="kg-card kg-image-card"><img src="__GHOST_URL__/content/images/2024/01/'
        'oven.png" class="kg-image" alt="The oven"></figure>'
        f"<!--members-only--><p>{PAID}</p>"
    )
    export = _write(folder, "ghost.json", ghost_json({TITLE: html}, visibility="paid"))
    pictures = _zip(folder, "content.zip", {"content/images/2024/01/oven.png": PICTURE})
    said = "Originally published on 2 January 2024"
    return Export("Ghost", [export, pictures], said, "1 picture inside", has_line=True)


def export_substack(folder: Path, _: Account) -> Export:
    """Substack's zip, with a list of subscribers that the import ignores."""
    rows = (
        "post_id,post_date,is_published,email_sent_at,type,audience,title,subtitle,podcast_url\n"
        f"123401.bread,2021-03-04T10:00:00.000Z,TRUE,,newsletter,only_paid,{TITLE},&#x201C;Rye&#x201D;,\n"
    )
    html = (
        f'<p>{TYPO}</p><p class="button-wrapper"><a href="https://me.example">Subscribe</a></p>'
        f'<div class="paywall-jump"></div><p>{PAID}</p>'
    )
    files = {
        "posts.csv": rows,
        "posts/123401.bread.html": html,
        "email_list.me.csv": "email\nreader@example.org\n",
    }
    said = "Originally published on 4 March 2021"
    return Export("Substack", [_zip(folder, "substack.zip", files)], said, None, has_line=True)


def export_medium(folder: Path, _: Account) -> Export:
    """Medium's zip, with a page for each post and one for the author."""
    html = f"""<!DOCTYPE html><html><head><title>{TITLE}</title></head><body>
<article class="h-entry"><header><h1 class="p-name">{TITLE}</h1></header>
<section data-field="subtitle" class="p-summary">A loaf</section>
<section data-field="body" class="e-content"><section class="section section--body">
<div class="section-divider"><hr class="section-divider"></div><div class="section-content">
<h3 class="graf graf--h3 graf--title">{TITLE}</h3><p class="graf graf--p">{TYPO}</p>
<p class="graf graf--p">{PAID}</p></div></section></section>
<footer><p>By <a href="https://medium.com/@me" class="p-author h-card">Me</a> on
<a href="https://medium.com/p/abcdef123456"><time class="dt-published"
datetime="2017-05-06T07:08:09.000Z">May 6, 2017</time></a>.</p>
<p><a href="https://medium.com/@me/bread-abcdef123456" class="p-canonical">Canonical link</a></p>
<ul class="p-tags"><li><a class="p-tag" href="https://medium.com/tag/bread">Bread</a></li></ul>
</footer></article></body></html>"""
    files = {
        "posts/2017-05-06_Bread-for-the-slow-abcdef123456.html": html,
        "profile/profile.html": "<p>Me</p>",
    }
    said = "Originally published on 6 May 2017"
    return Export("Medium", [_zip(folder, "medium-export.zip", files)], said)


def export_wordpress(folder: Path, _: Account) -> Export:
    """A classic WordPress post, with paragraphs as plain lines, and a picture that is no post."""
    xml = f"""<?xml version="1.0" encoding="UTF-8" ?>
<rss version="2.0" xmlns:excerpt="http://wordpress.org/export/1.2/excerpt/"
xmlns:content="http://purl.org/rss/1.0/modules/content/"
xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:wp="http://wordpress.org/export/1.2/">
<channel><title>Baker</title><wp:wxr_version>1.2</wp:wxr_version>
<item><title>{TITLE}</title><link>https://baker.example/bread/</link>
<pubDate>Tue, 06 Mar 2012 10:00:00 +0000</pubDate><dc:creator><![CDATA[me]]></dc:creator>
<guid isPermaLink="false">https://baker.example/?p=7</guid>
<content:encoded><![CDATA[{TYPO}

<!--more-->

{PAID}]]></content:encoded><excerpt:encoded><![CDATA[]]></excerpt:encoded>
<wp:post_id>7</wp:post_id><wp:post_date_gmt>2012-03-06 10:00:00</wp:post_date_gmt>
<wp:post_name>bread</wp:post_name><wp:status>publish</wp:status><wp:post_type>post</wp:post_type>
<category domain="post_tag" nicename="bread"><![CDATA[Bread]]></category></item>
<item><title>Oven</title><wp:post_id>8</wp:post_id><wp:status>inherit</wp:status>
<wp:post_type>attachment</wp:post_type>
<wp:attachment_url>https://baker.example/oven.jpg</wp:attachment_url></item>
</channel></rss>"""
    said = "Originally published on 6 March 2012"
    return Export("WordPress", [_write(folder, "baker.xml", xml)], said, None, has_line=True)


def export_mirror(folder: Path, author: Account) -> Export:
    """A file from Arweave: the wallet signed a key, and that key signed the text."""
    content = {"title": TITLE, "body": f"{TYPO}\n\n{PAID}", "timestamp": "1650902400"}
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=False)
    digest = hashlib.sha256(text.encode()).digest()
    key = ec.generate_private_key(ec.SECP256R1())
    signed = decode_dss_signature(key.sign(digest, ec.ECDSA(SHA256())))
    point = key.public_key().public_numbers()
    jwk = {
        "crv": "P-256",
        "ext": True,
        "key_ops": ["verify"],
        "kty": "EC",
        **{
            name: _base64(number.to_bytes(32, "big"))
            for name, number in (("x", point.x), ("y", point.y))
        },
    }
    signing_key = json.dumps(jwk, separators=(",", ":"))
    message = f"I authorize publishing on mirror.xyz from this device using:\n{signing_key}"
    entry = {
        "content": content,
        "digest": _base64(digest),
        "authorship": {
            "contributor": author.address,
            "signingKey": signing_key,
            # In exports since 2022, the names of the two signatures are swapped.
            "signature": author.sign_message(message.encode()),
            "signingKeySignature": _base64(b"".join(part.to_bytes(32, "big") for part in signed)),
            "signingKeyMessage": message,
            "algorithm": {"name": "ECDSA", "hash": "SHA-256"},
        },
        "version": "04-25-2022",
    }
    path = _write(folder, "mirror.json", json.dumps(entry))
    said = "Originally published on 25 April 2022"
    return Export("Mirror", [path], said, f"Proved: signed by {author.address}.")


EXPORTS: Mapping[str, Callable[[Path, Account], Export]] = {
    "Markdown": export_markdown,
    "Jekyll": export_jekyll,
    "Hugo": export_hugo,
    "Obsidian": export_obsidian,
    "Ghost": export_ghost,
    "Substack": export_substack,
    "Medium": export_medium,
    "WordPress": export_wordpress,
    "Mirror": export_mirror,
}


def ghost_json(posts: Mapping[str, str], visibility: str = "public") -> str:
    """A Ghost export of posts with these titles and HTML texts."""
    rows = [
        {
            "id": f"{number:024x}",
            "uuid": f"00000000-0000-4000-8000-{number:012x}",
            "title": title,
            "slug": f"post-{number}",
            "mobiledoc": None,
            "lexical": '{"root":{"children":[]}}',
            "html": html,
            "plaintext": "",
            "feature_image": None,
            "type": "post",
            "status": "published",
            "visibility": visibility,
            "published_at": "2024-01-02T03:04:05.000Z",
            "custom_excerpt": None,
            "canonical_url": None,
        }
        for number, (title, html) in enumerate(posts.items(), 1)
    ]
    links = [{"post_id": row["id"], "tag_id": "1", "sort_order": 0} for row in rows]
    data = {
        "posts": rows,
        "posts_meta": [],
        "posts_tags": links,
        "tags": [{"id": "1", "name": "Bread", "slug": "bread"}],
    }
    meta = {"exported_on": 1704164645000, "version": "6.60.0"}
    return json.dumps({"db": [{"meta": meta, "data": data}]})


def open_import(page: Page) -> None:
    page.get_by_role("link", name="Import", exact=True).click()
    expect(page.get_by_role("heading", name="Import")).to_be_visible()


def choose(page: Page, *paths: Path) -> None:
    """Choose files, or one folder."""
    is_folder = paths[0].is_dir()
    field = page.get_by_label("A folder" if is_folder else "Files or zips")
    field.set_input_files(paths[0] if is_folder else list(paths))


def found_posts(page: Page) -> Locator:
    """Return the elements in which the Studio lists the posts of the chosen files."""
    return page.get_by_role("list", name="Posts in your files").locator(".import-line")


def _write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def _zip(folder: Path, name: str, files: Mapping[str, str | bytes]) -> Path:
    path = folder / name
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for each, content in files.items():
            archive.writestr(each, content)
    return path


def _base64(value: bytes) -> str:
    return urlsafe_b64encode(value).rstrip(b"=").decode()
