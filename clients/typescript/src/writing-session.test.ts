import assert from "node:assert/strict";
import { test } from "node:test";
import { Imprint } from "./imprint.js";
import { Refusal, Unconfirmed, Unreachable } from "./problems.js";
import type { ServiceFacts } from "./records.js";
import { hashText } from "./typed-data.js";
import type { SignedWrite } from "./writer.js";
import { WritingSession } from "./writing-session.js";

const NOW = 1_750_000_000;
const URL = "http://127.0.0.1";
const FACTS = {
  service: URL,
  signing: { name: "Imprint", version: "1", chainId: 31337 },
  signing_forms: ["imprint-2"],
  now: NOW,
} as unknown as ServiceFacts;
const RECORD = {
  id: "5d7b1d1e-0000-4000-8000-000000000000",
  wallet: "0x00000000000000000000000000000000000000aa",
  actions: ["create", "update"],
  notBefore: "2025-06-15T00:00:00Z",
  expires: "2025-06-16T00:00:00Z",
  createdAt: "2025-06-15T00:00:00Z",
} as const;
const SAVED = { cid: "bafkreisaved" };

const busy = () =>
  Response.json(
    { code: "overloaded", status: 503, detail: "Too many requests are in progress." },
    { status: 503, headers: { "Retry-After": "0" } },
  );
const stale = () =>
  Response.json(
    { code: "signature_stale", status: 401, detail: "The timestamp is old.", now: NOW + 3600 },
    { status: 401 },
  );
const spent = () =>
  Response.json(
    { code: "nonce_used", status: 409, detail: "Sent before.", action: "create", file: SAVED },
    { status: 409 },
  );
const saved = () => Response.json({ updatedUpload: SAVED });
const lost = () => {
  throw new TypeError("fetch failed");
};

const isStale = (error: unknown) => error instanceof Refusal && error.code === "signature_stale";

/**
 * A session at a service that returns these responses in turn, and the bodies that it received.
 */
async function openSession(responses: (() => Response)[]) {
  const bodies: string[] = [];
  const fetch = async (_: string, init?: RequestInit) => {
    bodies.push(String(init?.body));
    return responses[bodies.length - 1]?.() ?? saved();
  };
  const algorithm = { name: "ECDSA", namedCurve: "P-256" };
  const { privateKey } = await crypto.subtle.generateKey(algorithm, false, ["sign"]);
  const imprint = new Imprint(URL, FACTS, { fetch });
  const record = { ...RECORD, actions: [...RECORD.actions] };
  return { imprint, session: new WritingSession(imprint, record, privateKey), bodies };
}

test("a save is sent again with the same signature while the service is busy or away", async () => {
  const { session, bodies } = await openSession([busy, lost]);
  assert.deepEqual(await session.save("Words."), SAVED);
  assert.equal(bodies.length, 3);
  assert.equal(new Set(bodies).size, 1);
});

test("a stale signature is replaced by one with the service's time", async () => {
  const { session, bodies } = await openSession([stale]);
  assert.deepEqual(await session.save("Words."), SAVED);
  const times = bodies.map((body) => Number(JSON.parse(body).salt.message.timestamp));
  assert.equal(times.length, 2);
  assert.ok(Number(times[1]) - Number(times[0]) >= 3600);
});

test("a stale signature is not replaced if the draft may have been saved", async () => {
  const { session, bodies } = await openSession([busy, stale]);
  await assert.rejects(session.save("Words."), Unconfirmed);
  assert.equal(bodies.length, 2);
  assert.equal(new Set(bodies).size, 1);
});

test("a save is refused if its second signature is stale too", async () => {
  const { session, bodies } = await openSession([stale, stale]);
  await assert.rejects(session.save("Words."), isStale);
  assert.equal(bodies.length, 2);
});

test("a wrong clock is corrected without asking the wallet twice", async () => {
  const { imprint, session, bodies } = await openSession([stale]);
  const { address } = session;
  const wallet = { address, signTypedData: async () => "0x01" as const };
  await assert.rejects(imprint.saveDraft(wallet, "Words."), isStale);
  assert.equal(bodies.length, 1);
  assert.ok(imprint.now() >= NOW + 3600);
});

test("a refusal of any stale signature sets the clock", async () => {
  const { imprint } = await openSession([stale]);
  const wallet = { address: RECORD.wallet, signTypedData: async () => "0x01" as const };
  await assert.rejects(imprint.deleteDraft(wallet, "bafkreidraft"), isStale);
  assert.ok(imprint.now() >= NOW + 3600);
});

test("a correction whose response was lost is sent again, and added once", async () => {
  const revised = () =>
    Response.json(
      { code: "nonce_used", status: 409, detail: "Sent before.", action: "revise", file: null },
      { status: 409 },
    );
  const record = { number: 2, cid: "bafkreinew", note: "Typo.", createdAt: "2025-06-15T00:00:00Z" };
  const listed = () =>
    Response.json({
      revisions: [
        { ...record, words: 3 },
        { ...record, number: 1, words: 3 },
      ],
    });
  const { imprint, bodies } = await openSession([busy, revised, listed]);
  const wallet = { address: RECORD.wallet, signTypedData: async () => "0x01" as const };
  const options = { cid: "bafkreichain", note: "Typo." };
  assert.deepEqual(await imprint.revisePost(wallet, 7n, "Words.", options), record);
  assert.equal(bodies.length, 3);
  assert.equal(bodies[0], bodies[1]);
});

test("a correction that may have been added is reported as unconfirmed", async () => {
  const { imprint, bodies } = await openSession([busy, stale]);
  const wallet = { address: RECORD.wallet, signTypedData: async () => "0x01" as const };
  const revising = imprint.revisePost(wallet, 7n, "Words.", { cid: "bafkreichain" });
  await assert.rejects(revising, Unconfirmed);
  assert.equal(bodies.length, 2);
});

test("a signed write is reported before it is sent, and can be sent again after a reload", async () => {
  const { imprint, session, bodies } = await openSession([lost, spent]);
  const kept: SignedWrite[] = [];
  const saving = session.save("Words.", undefined, {
    onSigned: (signed) => kept.push(signed),
    wait: async () => false,
  });
  await assert.rejects(saving, Unreachable);
  const [signed] = kept;
  assert.ok(signed);
  assert.deepEqual(await imprint.resendDraft(signed, "Words."), SAVED);
  assert.equal(bodies.length, 2);
  assert.equal(new Set(bodies).size, 1);
});

test("a save that is resent with a stale signature is reported as unconfirmed", async () => {
  const { imprint, session, bodies } = await openSession([stale]);
  const signed = await imprint.signWrite(session, "create", { contentHash: hashText("Words.") });
  await assert.rejects(imprint.resendDraft(signed, "Words."), Unconfirmed);
  assert.equal(bodies.length, 1);
});

test("a caller that handles the wait decides how often a save is sent", async () => {
  const { session, bodies } = await openSession(Array.from({ length: 9 }, () => lost));
  const pauses: number[] = [];
  const wait = async (_: unknown, seconds: number) => pauses.push(seconds) < 8;
  await assert.rejects(session.save("Words.", undefined, { wait }), Unreachable);
  assert.equal(bodies.length, 8);
  assert.deepEqual(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
});
