import "../page/page-double.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import { BlobReader, TextWriter, ZipReader } from "@zip.js/zip.js/lib/zip-core-custom.js";
import { ImprintReader, type ServiceFacts } from "imprint-press";
import { packLibrary } from "./download.ts";

const POST = {
  id: "7",
  author: `0x${"11".repeat(20)}`,
  title: "Wörter",
  hashtags: [],
  createdAt: "2026-11-18T08:00:00Z",
  byline: null,
  revision: null,
  held: { balance: "1", boughtAt: "2026-11-18T09:00:00Z", paid: null },
  links: { self: "", content: "", page: "https://press.example/p/7/worter" },
};

test("the library is packed as a zip of readable files", async () => {
  const fetch = async (input: string | URL | Request) => {
    const { pathname } = new URL(String(input));
    if (pathname === "/me/library") return Response.json({ posts: [POST], next_page_token: null });
    if (pathname === "/posts/7/content") return Response.json({ content: "Für alle. 墨" });
    if (pathname === "/p/7/document") return new Response("The document.");
    return Response.json({ code: "not_final", status: 409, detail: "" }, { status: 409 });
  };
  const reader = new ImprintReader("https://press.example", { now: 0 } as ServiceFacts, { fetch });
  const seen: [number, number][] = [];
  const zip = await packLibrary(reader, { onPost: (done, all) => void seen.push([done, all]) });
  const files: Record<string, string> = {};
  for (const entry of await new ZipReader(new BlobReader(zip)).getEntries())
    if (!entry.directory)
      files[entry.filename] = await entry.getData(new TextWriter(), { useWebWorkers: false });
  assert.deepEqual(Object.keys(files), [
    "posts/7-worter/post.md",
    "posts/7-worter/document.json",
    "README.md",
  ]);
  assert.match(files["posts/7-worter/post.md"] ?? "", /title: "Wörter"[\s\S]*Für alle\. 墨\n$/);
  assert.equal(files["posts/7-worter/document.json"], "The document.");
  assert.deepEqual(seen, [
    [0, 1],
    [1, 1],
  ]);
});
