import assert from "node:assert/strict";
import { test } from "node:test";
import { exportLibrary } from "./library.js";
import { Refusal } from "./problems.js";
import { ImprintReader } from "./reader.js";
import type { Code, HeldPost, ServiceFacts } from "./records.js";

const SERVICE = "https://press.example";
const CID = "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku";
const PICTURE = "bafkreiflcb7rxvrs2pb7lrzevgoqet37vibt6m6ao2ldqs3ajp7hrlbvfu";
const AUTHOR = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";

const held = (id: string, more: Partial<HeldPost> = {}): HeldPost =>
  ({
    id,
    author: AUTHOR,
    cid: CID,
    title: `Post "${id}"`,
    hashtags: ["ink"],
    createdAt: "2026-11-18T08:00:00Z",
    byline: null,
    revision: null,
    held: { balance: "1", boughtAt: "2026-11-18T09:00:00Z", paid: "5" },
    links: { self: "", content: "", page: `${SERVICE}/p/${id}/a-title` },
    ...more,
  }) as HeldPost;

type Reply = string | object | Code;

/** A service with these responses by path. A code means a refusal; other paths are not found. */
function serve(posts: HeldPost[], replies: Record<string, Reply | Reply[]>): ImprintReader {
  const fetch = async (input: string | URL | Request) => {
    const path = String(input).slice(SERVICE.length);
    if (path.startsWith("/me/library")) return Response.json({ posts, next_page_token: null });
    const given = replies[path] ?? "not_found";
    const reply = Array.isArray(given) ? (given.shift() ?? "not_found") : given;
    if (typeof reply === "string" && /^[a-z_]+$/.test(reply)) {
      const problem = { code: reply, status: 409, detail: reply };
      return Response.json(problem, { status: 409, headers: { "Retry-After": "0" } });
    }
    if (typeof reply === "string")
      return new Response(reply, { headers: { "Content-Type": "image/png" } });
    return Response.json(reply);
  };
  return new ImprintReader(SERVICE, { now: 0 } as ServiceFacts, { fetch: fetch as never });
}

async function collect(reader: ImprintReader): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for await (const { path, content } of exportLibrary(reader)) {
    assert.ok(!(path in files), path);
    files[path] = typeof content === "string" ? content : new TextDecoder().decode(content);
  }
  return files;
}

test("a post is saved as Markdown with its document, pictures and proof", async () => {
  const text = `# Words\n\n![A](ipfs://${PICTURE}) ![A](ipfs://${PICTURE})`;
  const files = await collect(
    serve([held("7")], {
      "/posts/7/content": { content: text },
      "/p/7/document": { content: text },
      "/posts/7/proof.json": { type: "imprint-proof-1" },
      [`/ipfs/${PICTURE}`]: "The bytes.",
    }),
  );
  const folder = "posts/7-a-title";
  const names = ["document.json", "post.md", "proof.json", `${PICTURE}.png`];
  const paths = ["README.md", ...names.map((name) => `${folder}/${name}`)];
  assert.deepEqual(Object.keys(files).sort(), paths.sort());
  assert.ok(files[`${folder}/post.md`]?.endsWith(`![A](${PICTURE}.png) ![A](${PICTURE}.png)\n`));
  assert.match(files[`${folder}/post.md`] ?? "", /^---\ntitle: "Post \\"7\\""\nauthor: /);
  assert.equal(files[`${folder}/document.json`], JSON.stringify({ content: text }));
  assert.match(files["README.md"] ?? "", /\[Post "7"\]\(posts\/7-a-title\/post\.md\)/);
});

test("characters that YAML forbids are escaped in the front matter of a post", async () => {
  const post = held("7", { title: "A\x00\x7f\x85\u2028\ufeff\uffffé墨", hashtags: ["\x9f"] });
  const files = await collect(serve([post], { "/posts/7/content": { content: "Words." } }));
  const text = files["posts/7-a-title/post.md"] ?? "";
  assert.ok(text.includes('title: "A\\u0000\\u007f\\u0085\\u2028\\ufeff\\uffffé墨"\n'), text);
  assert.ok(text.includes('tags: ["\\u009f"]\n'), text);
});

test("a correction is saved with the signature of its author", async () => {
  const revision = { number: 2, note: "", createdAt: "2026-11-18T10:00:00Z" };
  const signed = { content: "Better.", revision: 2, proof: { signature: "0x01" } };
  const files = await collect(
    serve([held("7", { revision })], { "/posts/7/content?revision=2": signed }),
  );
  assert.match(files["posts/7-a-title/post.md"] ?? "", /Better\.\n$/);
  assert.deepEqual(JSON.parse(files["posts/7-a-title/correction.json"] ?? ""), signed);
});

test("missing files are noted in the list, and the others are saved", async () => {
  const files = await collect(
    serve(
      ["6", "7", "8", "9"].map((id) => held(id)),
      {
        "/posts/6/content": "storage_unavailable",
        "/posts/6/proof.json": { type: "imprint-proof-1" },
        "/posts/7/content": "not_entitled",
        "/posts/8/content": { content: "Words." },
        "/posts/8/proof.json": "not_final",
        "/posts/9/content": "withheld",
        "/posts/9/proof.json": "withheld",
      },
    ),
  );
  const saved = ["posts/6-a-title/proof.json", "posts/8-a-title/post.md", "README.md"];
  assert.deepEqual(Object.keys(files), saved);
  const list = files["README.md"] ?? "";
  assert.match(list, /^- Post "6", by \S+ \(its text can’t be read at the moment\)$/m);
  assert.match(
    list,
    /^- Post "7".* \(its text isn’t readable for .*; its proof isn’t stored .*\)$/m,
  );
  assert.match(list, /^- \[Post "8"\].* \(its proof isn’t final yet\)$/m);
  assert.match(list, /^- Post "9".* \(its text is withheld; its proof is withheld\)$/m);
});

test("an erased correction does not end the download", async () => {
  const revision = { number: 2, note: "", createdAt: "2026-11-18T10:00:00Z" };
  const files = await collect(
    serve([held("7", { revision })], {
      "/posts/7/content?revision=2": "unknown_revision",
      "/posts/7/content": { content: "First." },
    }),
  );
  assert.match(files["posts/7-a-title/post.md"] ?? "", /First\.\n$/);
  assert.doesNotMatch(files["posts/7-a-title/post.md"] ?? "", /^corrected:/m);
});

test("a request to a busy service is repeated", async () => {
  const replies = { "/posts/7/content": ["rate_limited", "overloaded", { content: "Words." }] };
  assert.ok("posts/7-a-title/post.md" in (await collect(serve([held("7")], replies))));
});

test("an outage ends the download", async () => {
  const reader = serve([held("7")], { "/posts/7/content": "chain_unavailable" });
  await assert.rejects(collect(reader), (error) => error instanceof Refusal);
});

test("paths from a hostile service cannot leave the folder", async () => {
  const links = { self: "", content: "", page: `${SERVICE}/p/1/..%2f..%2fetc` };
  const post = held("../../7", { links, title: "](http://evil.example)<script>" });
  const files = await collect(serve([post], { "/posts/../../7/content": { content: "" } }));
  for (const path of Object.keys(files))
    assert.match(path, /^(README|posts\/7-2f2fetc\/post)\.md$/);
  assert.doesNotMatch(files["README.md"] ?? "", /\]\(http|<script/);
});

test("a document of the earlier front end is converted to Markdown", async () => {
  const blocks = [
    { type: "header", data: { level: 2, text: "A <b>title</b>" } },
    { type: "header", data: { level: -1, text: "First" } },
    { type: "header", data: { level: 1e9, text: "Last" } },
    { type: "paragraph", data: { text: "If a < b, <i>words</i>." } },
    { type: "list", data: { items: ["one", { content: "two" }] } },
    { type: "code", data: { code: "x < y" } },
    { type: "delimiter" },
    { type: "delimiter", data: null },
  ];
  const content = { content: JSON.stringify({ blocks }) };
  const files = await collect(serve([held("7")], { "/posts/7/content": content }));
  const text =
    "## A title\n\n# First\n\n###### Last\n\nIf a < b, words.\n\n- one\n- two\n\n```\nx < y\n```\n";
  assert.ok(files["posts/7-a-title/post.md"]?.endsWith(`---\n\n${text}`));
});

const MALFORMED = [
  null,
  "text",
  { type: "header", data: { text: { toString: 1 } } },
  { type: "code", data: { code: { toString: 1 } } },
  { type: "list", data: { items: [null] } },
  { type: "list", data: { items: [{ content: { toString: 1 } }] } },
];

for (const block of MALFORMED) {
  const content = JSON.stringify({ blocks: [block] });
  test(`a document that is not understood is saved as it is: ${content}`, async () => {
    const files = await collect(serve([held("7")], { "/posts/7/content": { content } }));
    assert.ok(files["posts/7-a-title/post.md"]?.endsWith(`---\n\n${content}\n`));
  });
}
