import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import {
  encodeAbiParameters,
  encodeFunctionData,
  parseAbi,
  toEventSelector,
  toFunctionSelector,
} from "viem/utils";
import {
  balanceOf,
  buyManyCall,
  buyPostCall,
  changePriceCall,
  createdPostId,
  createPostCall,
  ERRORS,
  findReceipt,
  POST_CREATED,
  SELECTORS,
  verifyProof,
  waitForReceipt,
} from "./marketplace.js";
import type { Hex, PostProof } from "./records.js";
import type { Provider } from "./wallet.js";

const MARKETPLACE = "0x5FbDB2315678afecb367f032d93F642f64180aa3";
const READER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
const abi = parseAbi([
  "struct NewPost { string postCid; string postTitle; string thumbnailCid; string description; uint256 priceInNative; string[] hashtags; }",
  "function createPost(NewPost params) returns (uint256 tokenId)",
  "function subscribePost(uint256 tokenId) payable",
  "function updatePostPrice(uint256 tokenId, uint256 newPrice)",
  "function buyMany(uint256[] ids, address receiver) payable",
  "function balanceOf(address owner, uint256 id) view returns (uint256)",
]);

const responding = (result: unknown, asked: unknown[] = []): Provider => ({
  request: async (args) => {
    asked.push(args);
    return result;
  },
});

interface AbiParameter {
  type: string;
  components?: AbiParameter[];
}

interface AbiItem {
  type: string;
  name: string;
  inputs: AbiParameter[];
}

/** The contract that the service deploys and follows; the token's errors are those of ERC-6909. */
const CONTRACT = new URL("../../../src/imprint/marketplace/Marketplace.json", import.meta.url);
const { abi: compiled } = JSON.parse(await readFile(CONTRACT, "utf-8")) as { abi: AbiItem[] };

const typeOf = ({ type, components }: AbiParameter): string =>
  components ? type.replace("tuple", `(${components.map(typeOf)})`) : type;

/** The selectors of the contract's functions or errors, by name. */
const compiledSelectors = (kind: "function" | "error"): Map<string, Hex> =>
  new Map(
    compiled
      .filter(({ type }) => type === kind)
      .map(({ name, inputs }) => [name, toFunctionSelector(`${name}(${inputs.map(typeOf)})`)]),
  );

test("the list has all errors of the contract, with their selectors", () => {
  const own = [...compiledSelectors("error")].filter(([name]) => !name.startsWith("ERC6909"));
  assert.deepEqual({ ...ERRORS }, Object.fromEntries(own));
});

test("the selectors match the contract's functions", () => {
  const functions = compiledSelectors("function");
  for (const [name, selector] of Object.entries(SELECTORS))
    assert.equal(selector, functions.get(name), name);
  const event = "PostCreated(uint256,string,string,string,address,uint256)";
  assert.equal(POST_CREATED, toEventSelector(event));
});

test("calls are encoded as viem encodes them", () => {
  const post = {
    cid: "bafy",
    title: "墨",
    thumbnailCid: "bafk",
    description: "",
    price: 7n,
    hashtags: ["ink", "essays"],
  };
  const args = {
    postCid: "bafy",
    postTitle: "墨",
    thumbnailCid: "bafk",
    description: "",
    priceInNative: 7n,
    hashtags: ["ink", "essays"],
  };
  assert.deepEqual(createPostCall(MARKETPLACE, post), {
    to: MARKETPLACE,
    data: encodeFunctionData({ abi, functionName: "createPost", args: [args] }),
  });
  assert.deepEqual(buyPostCall(MARKETPLACE, "12", 5n), {
    to: MARKETPLACE,
    data: encodeFunctionData({ abi, functionName: "subscribePost", args: [12n] }),
    value: 5n,
  });
  assert.deepEqual(changePriceCall(MARKETPLACE, 12n, 5n), {
    to: MARKETPLACE,
    data: encodeFunctionData({ abi, functionName: "updatePostPrice", args: [12n, 5n] }),
  });
});

test("calls name their chain if one is given", () => {
  const post = {
    cid: "c",
    title: "t",
    thumbnailCid: "p",
    description: "",
    price: 1n,
    hashtags: [],
  };
  const calls = [
    createPostCall(MARKETPLACE, post, 5),
    buyPostCall(MARKETPLACE, 1n, 1n, 5),
    changePriceCall(MARKETPLACE, 1n, 1n, 5),
  ];
  for (const { chainId } of calls) assert.equal(chainId, 5);
});

test("a balance is read like viem reads it", async () => {
  const asked: unknown[] = [];
  assert.equal(await balanceOf(responding("0x01", asked), MARKETPLACE, READER, "3"), 1n);
  const data = encodeFunctionData({ abi, functionName: "balanceOf", args: [READER, 3n] });
  assert.deepEqual(asked, [{ method: "eth_call", params: [{ to: MARKETPLACE, data }, "latest"] }]);
});

test("a receipt tells whether a transaction was mined, and its outcome", async () => {
  const logs: never[] = [];
  const find = (found: unknown) => findReceipt(responding(found), "0x00");
  assert.equal(await find(null), null);
  assert.equal(await find({ status: "0x1", blockNumber: null, logs }), null);
  const mined = await find({ status: "0x1", blockNumber: "0x10", logs });
  assert.deepEqual(mined, { status: "success", blockNumber: 16, logs });
  assert.equal((await find({ status: "0x0", blockNumber: "0x1", logs }))?.status, "reverted");
});

test("aborting the signal ends the wait for a receipt, between two requests and during one", async () => {
  const reason = new Error("Enough.");
  const never = new Promise(() => {});
  for (const provider of [responding(null), responding(never)]) {
    const ending = new AbortController();
    const waiting = waitForReceipt(provider, "0x00", { everyMs: 2 ** 30, signal: ending.signal });
    setTimeout(() => ending.abort(reason), 1);
    await assert.rejects(waiting, reason);
    const ended = waitForReceipt(provider, "0x00", { signal: ending.signal });
    await assert.rejects(ended, reason);
  }
});

test("the id of a new post comes from the marketplace's own log", () => {
  const id: Hex = `0x${"2a".padStart(64, "0")}`;
  const log = { address: MARKETPLACE.toLowerCase() as Hex, topics: [POST_CREATED, id], data: "0x" };
  const receipt = { status: "success", blockNumber: 1, logs: [log as never] } as const;
  assert.equal(createdPostId({ ...receipt, logs: [...receipt.logs] }, MARKETPLACE), "42");
  assert.equal(createdPostId({ ...receipt, logs: [...receipt.logs] }, READER), null);
  assert.equal(createdPostId({ ...receipt, logs: [] }, MARKETPLACE), null);
});

const CID = "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku";
const BLOCK = `0x${"b1".repeat(32)}` as const;
const TRANSACTION = `0x${"7a".repeat(32)}` as const;
const topic = (value: bigint): Hex => `0x${value.toString(16).padStart(64, "0")}`;
const topics = [POST_CREATED, topic(7n), topic(BigInt(READER))];

const PROOF: PostProof = {
  type: "imprint-proof-1",
  id: "7",
  author: READER,
  cid: CID,
  createdAt: "2026-11-18T08:00:00Z",
  chainId: 31337,
  log: { address: MARKETPLACE, topics, index: 4 },
  transaction: TRANSACTION,
  block: { number: 12, hash: BLOCK },
};

const CHAIN = { id: 31337, marketplace: MARKETPLACE } as const;

/** A node that has this block, and a receipt with this log. */
const recording = (
  found: { cid?: string; topics?: Hex[]; hash?: Hex; chain?: Hex } = {},
): Provider => ({
  request: async ({ method, params }) => {
    if (method === "eth_chainId") return found.chain ?? "0x7a69";
    if (method === "eth_getBlockByNumber") {
      assert.deepEqual(params, ["0xc", false]);
      const timestamp = `0x${(Date.parse(PROOF.createdAt) / 1000).toString(16)}`;
      return { hash: found.hash ?? BLOCK, timestamp };
    }
    assert.deepEqual(params, [TRANSACTION]);
    const kinds = ["string", "string", "string", "uint256"].map((type) => ({ type }));
    const data = encodeAbiParameters(kinds, ["Title", found.cid ?? CID, "thumbnail", 1n]);
    const log = { address: MARKETPLACE, topics: found.topics ?? topics, data, logIndex: "0x4" };
    return { blockHash: BLOCK, status: "0x1", logs: [log] };
  },
});

test("a node confirms the proof of a post", async () => {
  assert.equal(await verifyProof(recording(), PROOF, CHAIN), true);
});

test("a CIDv0 on the chain matches the CIDv1 in the proof", async () => {
  const cid = "bafybeihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku";
  const node = recording({ cid: "QmdfTbBqBPQ7VNxZEYEj14VmRuZBkqFbiwReogJgS1zR1n" });
  assert.equal(await verifyProof(node, { ...PROOF, cid }, CHAIN), true);
});

const FORGERIES: Record<string, Partial<PostProof>> = {
  author: { author: MARKETPLACE },
  document: { cid: "bafkreiflcb7rxvrs2pb7lrzevgoqet37vibt6m6ao2ldqs3ajp7hrlbvfu" },
  id: { id: "8" },
  time: { createdAt: "2026-11-18T08:00:01Z" },
  log: { log: { ...PROOF.log, index: 5 } },
  contract: { log: { ...PROOF.log, address: READER } },
  chain: { chainId: 1 },
  topics: { log: { ...PROOF.log, topics: topics.slice(0, 2) } },
  block: { block: { number: 12, hash: TRANSACTION } },
};

for (const [forged, members] of Object.entries(FORGERIES)) {
  test(`a proof with another ${forged} is not confirmed`, async () => {
    assert.equal(await verifyProof(recording(), { ...PROOF, ...members }, CHAIN), false);
  });
}

test("a node whose chain has another block or log does not confirm the proof", async () => {
  assert.equal(await verifyProof(recording({ hash: TRANSACTION }), PROOF, CHAIN), false);
  assert.equal(await verifyProof(recording({ topics: topics.slice(0, 2) }), PROOF, CHAIN), false);
  assert.equal(await verifyProof(recording({ cid: "" }), PROOF, CHAIN), false);
  assert.equal(await verifyProof(responding("0x7a69"), PROOF, CHAIN), false);
});

test("a proof that another contract recorded is not confirmed", async () => {
  assert.equal(await verifyProof(recording(), PROOF, { ...CHAIN, marketplace: READER }), false);
});

test("a node of another chain cannot confirm a proof", async () => {
  await assert.rejects(
    verifyProof(recording({ chain: "0x1" }), PROOF, CHAIN),
    /not on chain 31337/,
  );
});

test("a purchase for a receiver is encoded as the adapter expects", () => {
  const call = buyManyCall(MARKETPLACE, ["7", 2n ** 200n], READER, 30n, 31337);
  const args = [[7n, 2n ** 200n], READER] as const;
  assert.equal(call.data, encodeFunctionData({ abi, functionName: "buyMany", args }));
  assert.deepEqual([call.to, call.value, call.chainId], [MARKETPLACE, 30n, 31337]);
});
