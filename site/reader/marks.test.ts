import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { standInForPage } from "../page/page-double.ts";

const ADA = "0xAda0000000000000000000000000000000000001";

standInForPage({ chain: { id: 31337 }, signing_forms: ["imprint-2"], features: [] });
let asked = 0;
Object.assign(globalThis.document, { querySelectorAll: () => [], addEventListener: () => {} });
Object.assign(globalThis, {
  // No wallet announces itself.
  window: new EventTarget(),
  fetch: async () => {
    asked += 1;
    return Response.json({ posts: [], next_page_token: null });
  },
});
const { keepSession } = await import("../page/session.ts");
const { markCards } = await import("./marks.ts");

const signIn = (token: string) =>
  keepSession({
    address: ADA,
    token,
    expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
  } as never);

// Its timer would keep the process alive.
afterEach(() => keepSession(null));

test("marks of new cards replace those of the earlier ones", () => {
  signIn("first");
  markCards();
  markCards();
  asked = 0;
  signIn("second");
  assert.equal(asked, 1);
});
