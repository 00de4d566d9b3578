import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { ElementDouble, standInForPage } from "../page/page-double.ts";

const ADA = "0xAda0000000000000000000000000000000000001";

standInForPage({ chain: { id: 31337 }, signing_forms: ["imprint-2"] });
const body = new ElementDouble("body");
Object.assign(globalThis.document, {
  createElement: (tag: string) => new ElementDouble(tag),
  dispatchEvent: () => true,
  body: {
    appendChild(child: ElementDouble) {
      body.append(child);
      return child;
    },
  },
});
Object.assign(globalThis, { window: new EventTarget(), fetch: respond });
const { keepSession } = await import("../page/session.ts");
const { showLibrary } = await import("./library.ts");

/** Responses to requests for pages of the library, by search text and page token. */
const pages = new Map<string, () => Response | Promise<Response>>();
let asked: string[] = [];
let place = new ElementDouble();

const held = (id: number, paid: string | null = null) => ({
  id: `${id}`,
  author: ADA,
  title: `Post ${id}`,
  hashtags: [],
  createdAt: "2026-11-18T08:00:00Z",
  byline: null,
  revision: null,
  held: { balance: "1", boughtAt: "2026-11-18T09:00:00Z", paid },
  links: { self: "", content: "", page: `http://127.0.0.1:8000/p/${id}/post` },
});

const listed = (ids: number[], next: string | null = null) =>
  Response.json({ posts: ids.map((id) => held(id)), next_page_token: next });

const problem = (status: number, code: string) =>
  Response.json({ code, status, detail: "", title: "", type: "" }, { status });

async function respond(url: string): Promise<Response> {
  const { searchParams } = new URL(url);
  const key = `${searchParams.get("q") ?? ""} ${searchParams.get("next_page_token") ?? ""}`.trim();
  asked.push(key);
  return (pages.get(key) ?? (() => listed([])))();
}

const settle = async () => {
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
};

async function open(): Promise<void> {
  keepSession({
    address: ADA,
    token: "session",
    expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
  } as never);
  place = new ElementDouble();
  showLibrary(place as never);
  await settle();
}

function search(text: string): void {
  const field = place.querySelector("input") ?? assert.fail();
  field.value = text;
  (place.querySelector("form") ?? assert.fail()).submit();
}

const titles = () => place.querySelectorAll("h2").map((each) => each.textContent);

function press(label: string): void {
  const found = place.querySelectorAll("button").find((each) => each.textContent === label);
  (found ?? assert.fail(`no button ${label}`)).click();
}

beforeEach(() => {
  pages.clear();
  // The libraries of earlier tests still follow the session.
  asked = [];
});

// Its timer would keep the process alive.
afterEach(() => keepSession(null));

test("a signed-out reader is asked to sign in, and nothing is requested", async () => {
  showLibrary(place as never);
  await settle();
  assert.match(place.textContent, /Sign in/);
  assert.deepEqual(asked, []);
});

test("further posts are added page by page", async () => {
  pages.set("", () => listed([1, 2], "next"));
  pages.set("next", () => listed([3]));
  await open();
  assert.deepEqual(titles(), ["Post 1", "Post 2"]);
  press("Show more");
  await settle();
  assert.deepEqual(titles(), ["Post 1", "Post 2", "Post 3"]);
  assert.equal(asked.at(-1), "next");
});

test("late results of an earlier search do not appear in a later one", async () => {
  let send = (_: Response) => {};
  pages.set("slow", () => new Promise((resolve) => (send = resolve)));
  pages.set("quick", () => listed([2]));
  await open();
  search("slow");
  await settle();
  search("quick");
  await settle();
  send(listed([1]));
  await settle();
  assert.deepEqual(titles(), ["Post 2"]);
});

test("a page that failed is requested again, and the posts before it stay", async () => {
  pages.set("", () => listed([1], "next"));
  pages.set("next", () => problem(503, "index_unavailable"));
  await open();
  press("Show more");
  await settle();
  assert.deepEqual(titles(), ["Post 1"]);
  pages.set("next", () => listed([2]));
  press("Try again");
  await settle();
  assert.deepEqual(titles(), ["Post 1", "Post 2"]);
  assert.equal(place.querySelectorAll(".shelf")[0]?.attributes.get("aria-busy"), "false");
});

test("an empty library and a search without results are told apart", async () => {
  await open();
  assert.match(place.textContent, /Find something to read/);
  search("ink");
  await settle();
  assert.match(place.textContent, /matches/);
  assert.doesNotMatch(place.textContent, /Find something to read/);
});

test("the end of the session is reported, and the reader is asked to sign in", async () => {
  pages.set("", () => problem(401, "session_expired"));
  await open();
  assert.match(body.textContent, /session (has )?ended/i);
  assert.match(place.textContent, /Sign in/);
  assert.deepEqual(titles(), []);
});

test("a post that was given shows no price", async () => {
  pages.set("", () =>
    Response.json({ posts: [held(1), held(2, `${10n ** 16n}`)], next_page_token: null }),
  );
  await open();
  const [given, bought] = place.querySelectorAll(".shelf-note").map((each) => each.textContent);
  assert.doesNotMatch(given ?? "", /ETH/);
  assert.match(bought ?? "", /0\.01 ETH/);
});
