import assert from "node:assert/strict";
import { test } from "node:test";
import type { Hex, Receipt } from "imprint-press";
import type { Chain } from "../../chain/transaction.ts";
import { beginProgress, type Progress } from "./progress.ts";
import { Publication, type PublicationPorts } from "./publication.ts";

const AUTHOR = "0x00000000000000000000000000000000000000aa";
const MARKET = "0x00000000000000000000000000000000000000bb";
const CREATED = "0xf753f630973e9c5274697eb346810b78c35457ef0df3e0c5c7ade5841d55ca77";
const DETAILS = { title: "A title", description: "", price: "0", hashtags: [] };

const mined = (status: Receipt["status"]): Receipt => ({
  status,
  blockNumber: 9,
  logs: status === "success" ? [{ address: MARKET, topics: [CREATED, "0x07"], data: "0x" }] : [],
});

const makeChain = (other: Partial<Chain> = {}): Chain => ({
  check: async () => undefined,
  countTransactions: async () => 3,
  findReceipt: async () => mined("success"),
  findNonce: async () => 3,
  ...other,
});

/** A chain and a service in memory; calls are counted, and each part can be replaced. */
function makePorts(other: Partial<PublicationPorts> = {}) {
  const kept: Progress[] = [];
  const calls = { sent: 0, uploaded: 0, saved: 0 };
  const ports: PublicationPorts = {
    marketplace: MARKET,
    async save() {
      calls.saved += 1;
      return { cid: `bafy${calls.saved}` };
    },
    async upload() {
      calls.uploaded += 1;
      return "bafythumb";
    },
    call: () => ({ to: MARKET, data: "0x" }),
    findEntry: async () => null,
    switchChain: async () => undefined,
    async send(): Promise<Hex> {
      calls.sent += 1;
      return "0x11";
    },
    hasSentNothing: () => true,
    chain: makeChain(),
    findRefusal: async () => null,
    isListed: async () => true,
    keep: (progress) => kept.push(progress),
    recall: () => kept.at(-1) ?? null,
    lock: async () => () => undefined,
    isLocked: async () => false,
    isFree: async () => undefined,
    explain: (error) => ({ sentence: String(error), actions: ["retry"] }),
    nameSilent: (error) => (String(error).includes("away") ? "The node" : null),
    pause: async () => undefined,
    ...other,
  };
  const begun = beginProgress(AUTHOR, "key", DETAILS);
  return { ports, kept, calls, publication: new Publication(begun, ports) };
}

test("a publication runs from the text to the list, and stores every step", async () => {
  const { publication, kept } = makePorts();
  await publication.run();
  assert.equal(publication.failure.value, null);
  assert.equal(publication.progress.value.postId, "7");
  assert.deepEqual(
    kept.map(({ step }) => step),
    ["upload", "transaction", "transaction", "mined", "listed", "done"],
  );
});

test("a page that is reloaded after any step sends one transaction in total", async () => {
  const { kept } = await (async () => {
    const made = makePorts();
    await made.publication.run();
    return made;
  })();
  for (const progress of kept) {
    const entry = { postId: "7", author: AUTHOR } as const;
    const wasAsked = progress.asked !== null;
    const again = makePorts(wasAsked ? { findEntry: async () => entry } : {});
    const resumed = new Publication(progress, again.ports);
    await resumed.run();
    assert.equal(resumed.progress.value.step, "done");
    assert.equal(again.calls.sent, wasAsked ? 0 : 1);
  }
});

test("a rejected transaction is requested again, without another upload", async () => {
  let refuses = true;
  const { publication, calls } = makePorts({
    async send() {
      if (refuses) throw new Error("rejected");
      return "0x12";
    },
  });
  await publication.run();
  assert.match(publication.failure.value?.sentence ?? "", /rejected/);
  assert.equal(publication.progress.value.asked, null);
  refuses = false;
  await publication.run();
  assert.equal(publication.progress.value.step, "done");
  assert.equal(calls.uploaded, 1);
});

test("a wallet whose response was lost is not asked again automatically", async () => {
  const { ports, calls } = makePorts({
    chain: makeChain({ countTransactions: async () => 4 }),
  });
  const lost: Progress = {
    ...beginProgress(AUTHOR, "key", DETAILS),
    step: "transaction",
    cid: "bafy1",
    thumbnailCid: "bafythumb",
    asked: { nonce: 4 },
  };
  const publication = new Publication(lost, ports);
  await publication.run();
  assert.deepEqual(publication.failure.value?.actions, ["retry", "ask-again"]);
  assert.equal(calls.sent, 0);
  await publication.askAgain();
  assert.equal(calls.sent, 1);
  assert.equal(publication.progress.value.step, "done");
});

test("a cid that somebody else published is never sent, but a new version is", async () => {
  const stranger = { postId: "5", author: MARKET } as const;
  const { publication, calls } = makePorts({
    findEntry: async (cid) => (cid === "bafy1" ? stranger : null),
  });
  await publication.run();
  assert.deepEqual(publication.failure.value?.actions, ["new-version"]);
  assert.equal(calls.sent, 0);
  await publication.publishNewVersion();
  assert.equal(publication.progress.value.cid, "bafy2");
  assert.equal(publication.progress.value.step, "done");
});

test("a reverted transaction shows the reason and can be sent again", async () => {
  let isSent = false;
  const { publication } = makePorts({
    chain: makeChain({ findReceipt: async () => mined("reverted") }),
    findRefusal: async () => (isSent ? "The marketplace wants a title." : null),
    async send() {
      isSent = true;
      return "0x12";
    },
  });
  await publication.run();
  assert.equal(publication.failure.value?.sentence, "The marketplace wants a title.");
  assert.equal(publication.progress.value.transaction, null);
});

test("a version that was replaced elsewhere leads back to the newest text", async () => {
  const { publication } = makePorts({ upload: async () => null });
  await publication.run();
  assert.equal(publication.progress.value.step, "text");
  assert.match(publication.failure.value?.sentence ?? "", /changed or deleted elsewhere/);
});

test("a node that is briefly away stops nothing, and is named meanwhile", async () => {
  let away = 3;
  const notes: (string | null)[] = [];
  const made = makePorts({
    chain: makeChain({
      async findReceipt() {
        away -= 1;
        if (away >= 0) throw new Error("away");
        return mined("success");
      },
    }),
    pause: async () => void notes.push(made.publication.note.value),
  });
  await made.publication.run();
  assert.equal(made.publication.progress.value.step, "done");
  assert.match(notes[0] ?? "", /^The node isn’t responding/);
  assert.equal(made.publication.note.value, null);
});

test("a node that stays away times out, and the same step continues later", async () => {
  let isAway = true;
  const { publication, calls } = makePorts({
    chain: makeChain({
      async findReceipt() {
        if (isAway) throw new Error("away");
        return mined("success");
      },
    }),
  });
  await publication.run();
  assert.match(publication.failure.value?.sentence ?? "", /away/);
  assert.deepEqual(publication.failure.value?.actions, ["retry"]);
  isAway = false;
  await publication.run();
  assert.equal(publication.progress.value.step, "done");
  assert.equal(calls.sent, 1);
});

test("a publication of another tab is followed, and taken over when that tab ends", async () => {
  let isFree = false;
  let free: () => void = () => undefined;
  const freed = new Promise<void>((resolve) => {
    free = resolve;
  });
  const begun = beginProgress(AUTHOR, "key", DETAILS);
  let kept: Progress = begun;
  const { ports, calls } = makePorts({
    lock: async () => (isFree ? () => undefined : null),
    isLocked: async () => !isFree,
    isFree: () => freed,
    recall: () => kept,
  });
  const publication = new Publication(begun, ports);
  const running = publication.run();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(publication.isElsewhere.value, true);
  kept = { ...begun, step: "mined", cid: "bafy1", asked: { nonce: 3 }, transaction: "0x11" };
  isFree = true;
  free();
  await running;
  assert.equal(publication.progress.value.step, "done");
  assert.equal(calls.sent, 0);
});

test("a text that somebody else published in between is saved again after the revert", async () => {
  let isTaken = false;
  const stranger = { postId: "5", author: MARKET } as const;
  const { publication } = makePorts({
    findEntry: async (cid) => (isTaken && cid === "bafy1" ? stranger : null),
    chain: makeChain({ findReceipt: async () => mined(isTaken ? "reverted" : "success") }),
    async send() {
      isTaken = !isTaken;
      return "0x12";
    },
  });
  await publication.run();
  assert.deepEqual(publication.failure.value?.actions, ["new-version"]);
  await publication.publishNewVersion();
  assert.equal(publication.progress.value.cid, "bafy2");
  assert.equal(publication.progress.value.step, "done");
});

test("a tab that takes over never asks the wallet automatically", async () => {
  const begun = beginProgress(AUTHOR, "key", DETAILS);
  const uploaded: Progress = { ...begun, step: "transaction", cid: "bafy1", thumbnailCid: "bafy2" };
  const asked: Progress = { ...uploaded, asked: { nonce: 3 } };
  // The other tab learns that the wallet declined just before it ends.
  let kept = asked;
  const { ports, calls } = makePorts({
    recall: () => kept,
    lock: async () => {
      kept = uploaded;
      return () => undefined;
    },
  });
  const publication = new Publication(asked, ports);
  await publication.attend();
  assert.equal(publication.progress.value.asked, null);
  assert.equal(publication.isRunning.value, false);
  assert.equal(calls.sent, 0);
});
