import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { standInForPage } from "./page-double.ts";

const HOUR = 3_600_000;
const ADA = "0xAda0000000000000000000000000000000000001";
const BEN = "0xBe00000000000000000000000000000000000002";
const KEY = "imprint.session";

const made = (address: string, token: string, lasts = HOUR) => ({
  address,
  token,
  expiresAt: new Date(Date.now() + lasts).toISOString(),
});

const page = standInForPage({ chain: { id: 31337 }, signing_forms: ["imprint-2"] });
page.memory.set(KEY, JSON.stringify(made(ADA, "kept")));
page.memory.set(`${KEY}.0xold`, JSON.stringify(made(BEN, "expired", -1000)));
page.memory.set(`${KEY}.0xodd`, "not JSON");
page.memory.set(`${KEY}.0xnew`, JSON.stringify(made(BEN, "aside")));
const { forgetSessions, keepSession, reader, session, switchSession, watchSession } = await import(
  "./session.ts"
);

const keep = (held: ReturnType<typeof made> | null) => keepSession(held as never);

const token = (): string | undefined => session.value?.token;

/** Have the service respond to a request with a token. */
async function respond(status: number, problem: object, sent: string): Promise<Response> {
  Object.assign(globalThis, { fetch: async () => Response.json(problem, { status }) });
  return watchSession("/x", { headers: { Authorization: `Bearer ${sent}` } });
}

// Its timer would keep the process alive.
afterEach(() => keep(null));

test("a stored session is used after a reload", () => {
  assert.equal(token(), "kept");
  assert.equal(reader.session?.token, "kept");
});

test("expired sessions of other accounts are removed when a page opens", () => {
  const aside = [...page.memory.keys()].filter((key) => key.startsWith(`${KEY}.`));
  assert.deepEqual(aside, [`${KEY}.0xnew`]);
});

test("signing out forgets the sessions of other accounts, and nothing else", () => {
  page.memory.set("imprint.theme", '"dark"');
  keep(made(ADA, "of ada"));
  switchSession(BEN);
  keep(made(BEN, "of ben"));
  forgetSessions();
  const kept = [...page.memory.keys()];
  assert.deepEqual(
    kept.filter((key) => key.startsWith(KEY)),
    [],
  );
  assert.ok(kept.includes("imprint.theme"));
  assert.equal(token(), undefined);
});

test("a session is stored for the next page, and forgotten when it ends", () => {
  keep(made(ADA, "one"));
  assert.match(page.memory.get(KEY) ?? "", /"one"/);
  keep(null);
  assert.equal(page.memory.has(KEY), false);
  assert.equal(reader.session, null);
});

test("each account has its own session, which is used again after switching back", () => {
  keep(made(ADA, "of ada"));
  switchSession(BEN);
  assert.equal(token(), undefined);
  keep(made(BEN, "of ben"));
  switchSession(ADA.toLowerCase() as never);
  assert.equal(token(), "of ada");
  switchSession(BEN);
  assert.equal(token(), "of ben");
});

test("an expired session of another account is not used again", () => {
  keep(made(ADA, "old", 50));
  switchSession(BEN);
  page.memory.set(`${KEY}.${ADA.toLowerCase()}`, JSON.stringify(made(ADA, "old", -1000)));
  switchSession(ADA);
  assert.equal(token(), undefined);
});

test("signing in and out in another tab is followed here", () => {
  page.changeInOtherTab(KEY, JSON.stringify(made(ADA, "there")));
  assert.equal(token(), "there");
  page.changeInOtherTab(KEY, null);
  assert.equal(token(), undefined);
});

test("a session that the service reports as ended is forgotten", async () => {
  keep(made(ADA, "ended"));
  await respond(401, { code: "session_ended" }, "ended");
  assert.equal(token(), undefined);
});

test("a refusal of another session, or for another reason, does not end this session", async () => {
  keep(made(ADA, "new"));
  await respond(401, { code: "session_ended" }, "old");
  await respond(401, { code: "signature_invalid" }, "new");
  await respond(403, { code: "not_entitled" }, "new");
  assert.equal(token(), "new");
});

test("the time of the service is remembered for the next page", () => {
  reader.setClock(Math.floor(Date.now() / 1000) - 7200);
  assert.ok(Math.abs(Number(page.memory.get("imprint.clock")) + 7200) <= 1);
  reader.setClock(Date.now() / 1000);
  assert.equal(page.memory.has("imprint.clock"), false);
});

test("unreadable storage counts as empty", () => {
  page.changeInOtherTab(KEY, "not JSON");
  assert.equal(token(), undefined);
});
