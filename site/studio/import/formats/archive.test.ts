import "../../../page/page-double.ts";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { etc, getPublicKey, signAsync } from "@noble/secp256k1";
import { hashBytes } from "imprint-press";
import { readArchive } from "./archive.ts";
import { dayOf, draftText, type FoundPost } from "./found-post.ts";

const fixture = (name: string): Buffer<ArrayBuffer> =>
  readFileSync(`studio/import/fixtures/${name}`) as Buffer<ArrayBuffer>;

/** Read an archive from files, given by path. */
async function find(
  files: Readonly<Record<string, string | Buffer<ArrayBuffer>>>,
  origin: string | null = null,
) {
  const chosen = Object.entries(files).map(([path, content]) => ({
    path,
    blob: new Blob([content]),
  }));
  return readArchive(chosen, { origin, onPost: async () => undefined });
}

const only = async (...given: Parameters<typeof find>): Promise<FoundPost> => {
  const { posts } = await find(...given);
  assert.equal(posts.length, 1);
  return posts[0] as FoundPost;
};

test("a Ghost export becomes posts with tags, dates, cards and their paid part", async () => {
  const files = {
    "ghost.json": fixture("ghost.json"),
    "content/images/2024/01/loaf.png": fixture("blog/images/oven.png"),
  };
  const { posts, notes } = await find(files, "https://baker.example");
  assert.deepEqual(notes, []);
  const [bread, unfinished, about] = posts;
  assert.ok(bread && unfinished && about);
  assert.deepEqual(bread.tags, ["Bread", "Slow food"]);
  assert.equal(bread.description, "A loaf takes three days.");
  assert.equal(bread.pictures[0]?.name, "content/images/2024/01/loaf.png");
  assert.equal(
    draftText(bread, ["data:image/webp;base64,AA"]),
    `# On “slow” bread

*Originally published on 26 July 2019 at <https://baker.example/slow-bread/>.*

Flour, **water** and [time](https://baker.example/about/).

![A loaf](data:image/webp;base64,AA)

*Mine.*

[Rye](https://mill.example/rye)

<!--more-->

The secret is *patience*.

<https://www.youtube.com/watch?v=abc_123>
`,
  );
  assert.deepEqual(bread.losses, [
    "It was for paying members there. Set a price when you publish it.",
    "2 embeds became links.",
    "The paid part begins below the line “<!--more-->”.",
  ]);
  assert.equal(draftText(unfinished, []), "# Unfinished\n\nNot **yet**\n\n## Later\n");
  assert.deepEqual(unfinished.remarks, ["It was a draft there."]);
  assert.match(about.text, /I bake at \[the mill\]\(https:\/\/mill\.example\/\)/);
  assert.deepEqual(about.remarks, ["It was a page there, not a post."]);
  assert.equal(about.address, "https://baker.example/about");
});

test("a Ghost export without the old address says which pictures and links are missing", async () => {
  const { posts } = await find({ "ghost.json": fixture("ghost.json") });
  assert.equal(posts[0]?.address, null);
  assert.ok(posts[0]?.losses.some((loss) => loss.startsWith("1 picture not found")));
  assert.ok(posts[0]?.losses.some((loss) => loss.startsWith("1 link within the old site")));
});

test("a Jekyll folder becomes posts with its pictures inside", async () => {
  const { posts } = await find({
    "blog/_posts/2018-8-9-first-oven.markdown": fixture("blog/_posts/2018-8-9-first-oven.markdown"),
    "blog/_drafts/rye.md": fixture("blog/_drafts/rye.md"),
    "blog/images/oven.png": fixture("blog/images/oven.png"),
    "blog/README.md": "# Not a post",
  });
  const [oven, rye] = posts;
  assert.equal(posts.length, 2);
  assert.ok(oven && rye);
  assert.deepEqual(
    [oven.title, oven.date, oven.tags],
    ["My first oven", "2018-08-09", ["clay", "fire", "baking", "tools"]],
  );
  assert.match(oven.text, /!\[The oven\]\(imported-picture:0\)/);
  assert.match(oven.text, /```python\nprint\("\[\[not a link\]\]"\)\n```/);
  assert.match(oven.text, /See the note on rye\./);
  assert.deepEqual(oven.linkedPictures, ["https://pictures.example/fire.jpg"]);
  assert.equal(draftText(rye, []), "# Rye\n\nDark  bread.\n");
});

test("Obsidian and Hugo notes lose their own syntax and keep their pictures", async () => {
  const { posts } = await find({
    "vault/Note.md": "---\ntags: a, b\n---\n![[oven.png|300]]\n\n> [!tip] Try it\n> Now.\n",
    "vault/files/oven.png": fixture("blog/images/oven.png"),
    "content/post/index.md":
      '{\n"title": "Bundle",\n"date": "2020-01-02"\n}\n{{< figure src="cat.png" alt="Cat" >}}\n\n{{< x >}}',
    "content/post/cat.png": fixture("blog/images/oven.png"),
  });
  const [note, bundle] = posts;
  assert.equal(note?.title, "Note");
  assert.deepEqual(note?.tags, ["a", "b"]);
  assert.equal(note?.text, "![oven](imported-picture:0)\n\n> **Try it**\n> Now.");
  assert.equal(bundle?.title, "Bundle");
  assert.equal(bundle?.pictures[0]?.name, "content/post/cat.png");
  assert.deepEqual(bundle?.losses, ["1 shortcode left out or turned into a link."]);
});

test("front matter with aliases is not expanded", async () => {
  const bomb = `---\na: &a [x,x]\nb: &b [*a,*a]\ntitle: *b\n---\nText\n`;
  const post = await only({ "a.md": bomb });
  assert.deepEqual(post.losses, ["The front matter couldn’t be read, so it stays in the text."]);
  assert.match(post.text, /Text$/);
});

test("front matter that is nested too deeply is not parsed", async () => {
  for (const front of ["? - ".repeat(10_000), "[".repeat(10_000), "- ".repeat(10_000)]) {
    const post = await only({ "a.md": `---\n${front}\n---\nText\n` });
    assert.deepEqual(post.losses, ["The front matter couldn’t be read, so it stays in the text."]);
  }
});

const SUBSTACK = `post_id,post_date,is_published,email_sent_at,type,audience,title,subtitle,podcast_url
123401.plain-text,2021-03-04T10:00:00.000Z,true,,newsletter,only_paid,&#x201C;Plain&#x201D; text,"Sub, title",
123402.late,2021-03-05T10:00:00.000Z,TRUE,,newsletter,everyone,Late,,
`;
const SUBSTACK_POST = `<h2><strong>Head</strong></h2><p>Open.</p><p class="button-wrapper"><a href="https://x.example">Subscribe</a></p>
<div class="captioned-image-container"><figure><a class="image-link" href="https://substackcdn.com/a.png"><img src="https://substackcdn.com/image/fetch/w_1456,c_limit/https%3A%2F%2Fbucketeer-1-2.s3.amazonaws.com%2Fpublic%2Fa.png" alt=""></a></figure></div>
<div class="paywall-jump"></div><p>Paid.</p><div class="latex-rendered" data-attrs='{"persistentExpression":"a^2"}'></div>`;

test("a Substack zip becomes posts, and says which texts are missing", async () => {
  const { posts, notes } = await find(
    {
      "export/posts.csv": SUBSTACK,
      "export/posts/123401.plain-text.html": SUBSTACK_POST,
      "export/email_list.csv": "email\nsecret@example.org",
    },
    "https://me.substack.com",
  );
  assert.equal(posts.length, 1);
  assert.equal(
    draftText(posts[0] as FoundPost, []),
    `# “Plain” text

*Originally published on 4 March 2021 at <https://me.substack.com/p/plain-text>.*

## Head

Open.

![](https://substack-post-media.s3.amazonaws.com/public/a.png)

<!--more-->

Paid.

\`\`\`
a^2
\`\`\`
`,
  );
  assert.equal(posts[0]?.description, "Sub, title");
  assert.match(notes[0] ?? "", /^1 post in Substack’s list came without a text/);
});

test("a huge field of a table is bounded by the size of its file", async () => {
  const huge = `${SUBSTACK}1.x,,true,,newsletter,everyone,"${"a".repeat(5_000_000)}`;
  const { posts } = await find({ "posts.csv": huge, "posts/123401.plain-text.html": "<p>x</p>" });
  assert.equal(posts.length, 1);
});

const MEDIUM = `<!DOCTYPE html><html><head><title>Title</title></head><body><article class="h-entry">
<header><h1 class="p-name">Title</h1></header><section data-field="subtitle" class="p-summary">Summary</section>
<section data-field="body" class="e-content"><section class="section"><div class="section-divider"><hr class="section-divider"></div>
<h3 class="graf graf--h3 graf--title">Title</h3><h4 class="graf graf--subtitle">Summary</h4><p>First.</p><p>Second.</p>
<pre class="graf--pre">a<br>b</pre><div class="graf graf--mixtapeEmbed"><a class="markup--anchor" href="https://b.example/"><strong>Book</strong>b.example</a></div></section></section>
<footer><p>By <a class="p-author h-card" href="https://medium.com/@me">Me</a> on <a href="x"><time class="dt-published" datetime="2017-05-06T07:08:09.000Z">May</time></a></p>
<p><a class="p-canonical" href="https://medium.com/p/abcdef123456">Canonical</a></p><ul class="p-tags"><li><a class="p-tag" href="t">Life</a></li></ul></footer></article></body></html>`;

test("a page of Medium becomes a post without repeating its title", async () => {
  const post = await only({
    "posts/2017-05-06_Title-abcdef123456.html": MEDIUM,
    "profile/profile.html": "<p>Me</p>",
  });
  assert.equal(post.source, "medium:abcdef123456");
  assert.deepEqual(post.tags, ["Life"]);
  assert.equal(
    draftText(post, []),
    "# Title\n\n*Originally published on 6 May 2017 at <https://medium.com/p/abcdef123456>.*\n\nFirst.\n\nSecond.\n\n```\na\nb\n```\n\n[Book](https://b.example/)\n",
  );
});

const WXR = `<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>
<rss version="2.0" xmlns:wp="http://wordpress.org/export/1.2/"><channel><title>Site</title>
<item><title>Hello &b; &amp; all</title><link>https://wp.example/hello/</link><guid>https://wp.example/?p=7</guid><pubDate>Tue, 06 Mar 2012 10:00:00 +0000</pubDate>
<content:encoded><![CDATA[First line
second line

[caption id="a" width="5"]<img src="https://wp.example/a.jpg" alt="A"> Words[/caption]

<!--more-->

[gallery ids="8"]
\x01Last.]]></content:encoded><wp:post_id>7</wp:post_id><wp:post_type>post</wp:post_type><wp:status>publish</wp:status><wp:post_date_gmt>2012-03-06 10:00:00</wp:post_date_gmt>
<category domain="category" nicename="uncategorized"><![CDATA[Uncategorized]]></category><category domain="post_tag" nicename="sea"><![CDATA[Sea]]></category>
<wp:comment><wp:comment_content>Nice</wp:comment_content></wp:comment></item>
<item><title>Picture</title><wp:post_id>8</wp:post_id><wp:post_type>attachment</wp:post_type><wp:attachment_url>https://wp.example/b.jpg</wp:attachment_url><wp:status>inherit</wp:status></item>
<item><title>Block</title><guid>https://wp.example/?p=9</guid><content:encoded><![CDATA[<!-- wp:paragraph --><p>Para</p><!-- /wp:paragraph -->]]></content:encoded><wp:post_id>9</wp:post_id><wp:post_type>post</wp:post_type><wp:status>draft</wp:status><wp:post_date_gmt>0000-00-00 00:00:00</wp:post_date_gmt></item>
</channel></rss>`;

test("classic and block posts from WordPress are read without expanding entities", async () => {
  const { posts } = await find({ "site.xml": WXR });
  const [hello, block] = posts;
  assert.equal(posts.length, 2);
  assert.ok(hello && block);
  assert.equal(hello.title, "Hello &b; & all");
  assert.deepEqual(hello.tags, ["Sea"]);
  assert.equal(hello.date, "2012-03-06");
  assert.equal(
    hello.text,
    "First line\\\nsecond line\n\n![A](https://wp.example/a.jpg)\n\n*Words*\n\n<!--more-->\n\n![](https://wp.example/b.jpg)\n\nLast.",
  );
  assert.deepEqual(hello.losses, [
    "Comments (1) stay behind.",
    "1 gallery became single pictures.",
    "The paid part begins below the line “<!--more-->”.",
  ]);
  assert.equal(block.text, "Para");
  assert.equal(block.date, null);
});

test("XML that is nested too deeply is refused", async () => {
  const { posts, notes } = await find({ "site.xml": WXR + "<a>".repeat(100_000) });
  assert.deepEqual([posts.length, notes], [0, ["site.xml: The XML is nested too deeply."]]);
});

/** An archive file as Mirror wrote it, signed by a wallet with a fixed key. */
async function mirrorFile(change: (entry: Record<string, unknown>) => void = () => undefined) {
  const utf8 = new TextEncoder();
  const base64Url = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64url");
  const content = {
    title: "Tïtle",
    body: "Words\n\n[embed](https://a.example/)",
    timestamp: 1620000000,
  };
  const digest = new Uint8Array(
    await crypto.subtle.digest("SHA-256", utf8.encode(JSON.stringify(content))),
  );
  const algorithm = { name: "ECDSA", namedCurve: "P-256" };
  const pair = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const { kty, crv, x, y } = await crypto.subtle.exportKey("jwk", pair.publicKey);
  const signingKey = JSON.stringify({ crv, ext: true, key_ops: ["verify"], kty, x, y });
  const message = `I authorize publishing on mirror.xyz from this device using:\n${signingKey}`;
  const secret = new Uint8Array(32).fill(7);
  const bytes = utf8.encode(message);
  const prefix = utf8.encode(`\x19Ethereum Signed Message:\n${bytes.length}`);
  const hash = etc.hexToBytes(hashBytes(Uint8Array.from([...prefix, ...bytes])).slice(2));
  const signed = await signAsync(hash, secret, { prehash: false, format: "recovered" });
  const wallet = `0x${etc.bytesToHex(signed.slice(1))}${(27 + (signed[0] ?? 0)).toString(16)}`;
  const contributor = `0x${hashBytes(getPublicKey(secret, false).slice(1)).slice(-40)}`;
  const byKey = await crypto.subtle.sign(
    { name: "ECDSA", hash: "SHA-256" },
    pair.privateKey,
    digest,
  );
  const entry = {
    content,
    digest: base64Url(digest),
    authorship: {
      contributor,
      signingKey,
      signature: wallet,
      signingKeySignature: base64Url(new Uint8Array(byKey)),
      signingKeyMessage: message,
      algorithm: { name: "ECDSA", hash: "SHA-256" },
    },
    version: "04-25-2022",
    wnft: { chainId: 10 },
  };
  change(entry);
  return { file: JSON.stringify(entry), contributor, digest: entry.digest };
}

test("the signatures in an archive file of Mirror prove who wrote the text", async () => {
  const { file, contributor, digest } = await mirrorFile();
  const post = await only({ "tx.json": file });
  assert.equal(post.signedBy, contributor);
  assert.equal(
    draftText(post, []),
    `# Tïtle\n\n*Originally published on 3 May 2021 at <https://mirror.xyz/${contributor}/${digest}>, signed by \`${contributor}\`.*\n\nWords\n\n<https://a.example/>\n`,
  );
});

test("only the newest of several versions of a Mirror post is shown", async () => {
  const version = (timestamp: number, title: string) =>
    mirrorFile((entry) => {
      entry.originalDigest = "first";
      entry.content = { ...(entry.content as object), timestamp, title };
    });
  const [old, newest, middle] = [
    await version(1, "Old"),
    await version(9, "New"),
    await version(5, ""),
  ];
  const post = await only({ "1.json": old.file, "2.json": newest.file, "3.json": middle.file });
  assert.equal(post.title, "New");
});

test("an archive file of Mirror that was changed proves nothing", async () => {
  const { file } = await mirrorFile((entry) => {
    (entry.content as { body: string }).body += "!";
  });
  const post = await only({ "tx.json": file });
  assert.equal(post.signedBy, null);
  assert.match(post.remarks[0] ?? "", /^Not proved: the text and its signature don’t match/);
});

test("an archive file of Mirror that another wallet signed is intact, but not proved", async () => {
  const { file } = await mirrorFile((entry) => {
    (entry.authorship as { contributor: string }).contributor = `0x${"11".repeat(20)}`;
  });
  const post = await only({ "tx.json": file });
  assert.equal(post.signedBy, null);
  assert.match(post.remarks[0] ?? "", /^Not proved: the text is intact/);
});

test("an unreadable file is reported, and the other files are still read", async () => {
  const { posts, notes } = await find({ "bad.json": "{", "good.md": "Fine", "other.json": "[1]" });
  assert.equal(posts.length, 1);
  assert.deepEqual(notes, ["bad.json isn’t valid JSON."]);
});

test("a text that repeats the start of a mark is read quickly", async () => {
  const starts = ["![", "![[a", "[[a|", "![](a", "{{< figure ", "```a\n", "{% highlight a %}"];
  const files = starts.map((start, index) => [`${index}.md`, start.repeat(50_000 / start.length)]);
  const { posts } = await find(Object.fromEntries(files));
  assert.equal(posts.length, starts.length);
  const { notes } = await find({ "long.md": "word ".repeat(200_001) });
  assert.deepEqual(notes, ["long.md: It has more than a million characters."]);
});

test("the same text in two files is one post", async () => {
  const { posts, notes } = await find({ "a.md": "# Same\n", "b/a.md": "# Same\n" });
  assert.deepEqual([posts.length, notes], [1, ["1 post found twice, shown once."]]);
});

test("dates are read as services write them", () => {
  assert.equal(dayOf("2018-8-9"), "2018-08-09");
  assert.equal(dayOf("2024-01-02 08:00:00"), "2024-01-02");
  assert.equal(dayOf("Tue, 06 Mar 2012 10:00:00 +0000"), "2012-03-06");
  for (const none of ["", "0000-00-00 00:00:00", "soon", null]) assert.equal(dayOf(none), null);
});
