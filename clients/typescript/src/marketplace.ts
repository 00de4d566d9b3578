/** The marketplace contract: calls for a wallet to send, receipts, proofs and balances. */

import { encodeAbiParameters } from "viem/utils";
import { isSameCid } from "./cids.js";
import type { Address, ChainFacts, Hex, PostProof } from "./records.js";
import { endBy, pause } from "./transport.js";
import type { Call, Provider } from "./wallet.js";

/** The limits of the contract. */
export const POST_LIMITS = {
  titleBytes: 100,
  descriptionBytes: 500,
  priceWei: 10n ** 18n,
  hashtags: 10,
} as const;

/** Function selectors: the first four bytes of a call. */
export const SELECTORS = {
  createPost: "0x9b466dcc",
  subscribePost: "0xdf58067d",
  updatePostPrice: "0x4e1ebe50",
  balanceOf: "0x00fdd58e",
  getPostInfo: "0xeba1e3b3",
  postCidToTokenId: "0xe8be2748",
} as const;

/** The contract's own errors, by their selectors. */
export const ERRORS = {
  CidMissing: "0xa6afc551",
  CidAlreadyPublished: "0x7b639cd0",
  TitleMissing: "0xe508b9dc",
  TitleTooLong: "0x83dc6558",
  ThumbnailMissing: "0xf65547a0",
  DescriptionTooLong: "0x71a24cf3",
  PriceTooHigh: "0x87ebe85d",
  TooManyHashtags: "0x2da0a2f5",
  UnknownPost: "0x91f2ffcb",
  OnlyAuthor: "0xf08ad054",
  AuthorNeedNotBuy: "0x34c2a348",
  AlreadySubscribed: "0x25fbd8be",
  PaymentTooLow: "0x0cbe2bf2",
  PaymentRefused: "0xf98a5eac",
} as const;

/** The topic of `PostCreated`. */
export const POST_CREATED: Hex =
  "0xf753f630973e9c5274697eb346810b78c35457ef0df3e0c5c7ade5841d55ca77";

const NEW_POST = [
  {
    type: "tuple",
    components: [
      { name: "postCid", type: "string" },
      { name: "postTitle", type: "string" },
      { name: "thumbnailCid", type: "string" },
      { name: "description", type: "string" },
      { name: "priceInNative", type: "uint256" },
      { name: "hashtags", type: "string[]" },
    ],
  },
] as const;

export interface NewPost {
  cid: string;
  title: string;
  thumbnailCid: string;
  description: string;
  /** In wei; 0 means free for everybody. */
  price: bigint;
  hashtags: string[];
}

export interface Log {
  address: Address;
  topics: Hex[];
  data: Hex;
}

export interface Receipt {
  status: "success" | "reverted";
  blockNumber: number;
  logs: Log[];
}

/**
 * The call that publishes a draft, for its author's wallet to send. With `chainId`, it is
 * sent only on that chain.
 */
export function createPostCall(marketplace: Address, post: NewPost, chainId?: number): Call {
  const { cid, title, thumbnailCid, description, price, hashtags } = post;
  const encoded = encodeAbiParameters(NEW_POST, [
    {
      postCid: cid,
      postTitle: title,
      thumbnailCid,
      description,
      priceInNative: price,
      hashtags,
    },
  ]);
  const data: Hex = `${SELECTORS.createPost}${encoded.slice(2)}`;
  return { to: marketplace, data, ...pin(chainId) };
}

/**
 * The call that buys a token of the post, which lets its holder read. With `chainId`, it is sent
 * only on that chain.
 */
export function buyPostCall(
  marketplace: Address,
  postId: string | bigint,
  price: bigint,
  chainId?: number,
): Call {
  const data: Hex = `${SELECTORS.subscribePost}${word(BigInt(postId))}`;
  return { to: marketplace, data, value: price, ...pin(chainId) };
}

/** Selector of the purchase adapter's `buyMany(uint256[],address)`. */
export const BUY_MANY: Hex = "0x90bcd2d5";

/**
 * The call that buys posts for a receiver through the purchase adapter: all of them, or none.
 * `value` is the sum of their prices. With `chainId`, it is sent only on that chain.
 */
export function buyManyCall(
  adapter: Address,
  postIds: readonly (string | bigint)[],
  receiver: Address,
  value: bigint,
  chainId?: number,
): Call {
  const ids = postIds.map((id) => word(BigInt(id)));
  const words = [word(64n), word(BigInt(receiver)), word(BigInt(ids.length)), ...ids];
  return { to: adapter, data: `${BUY_MANY}${words.join("")}`, value, ...pin(chainId) };
}

/**
 * The call that changes the price of a post, for its author's wallet to send. With `chainId`, it
 * is sent only on that chain.
 */
export function changePriceCall(
  marketplace: Address,
  postId: string | bigint,
  price: bigint,
  chainId?: number,
): Call {
  const data: Hex = `${SELECTORS.updatePostPrice}${word(BigInt(postId))}${word(price)}`;
  return { to: marketplace, data, ...pin(chainId) };
}

const pin = (chainId: number | undefined): Pick<Call, "chainId"> =>
  chainId === undefined ? {} : { chainId };

/** The receipt of a transaction; null until it is mined. */
export async function findReceipt(provider: Provider, hash: Hex): Promise<Receipt | null> {
  const found = (await provider.request({
    method: "eth_getTransactionReceipt",
    params: [hash],
  })) as {
    status: Hex;
    blockNumber: Hex | null;
    logs: Log[];
  } | null;
  if (!found?.blockNumber) return null;
  const status = BigInt(found.status) === 1n ? "success" : "reverted";
  return { status, blockNumber: Number(found.blockNumber), logs: found.logs };
}

/**
 * The receipt of a transaction, once it is mined; it may have been reverted.
 *
 * Throws the signal's reason at once when it is aborted.
 */
export async function waitForReceipt(
  provider: Provider,
  hash: Hex,
  { everyMs = 1000, signal }: { everyMs?: number; signal?: AbortSignal } = {},
): Promise<Receipt> {
  for (;;) {
    const found = await endBy(findReceipt(provider, hash), signal);
    if (found) return found;
    await pause(everyMs, signal);
  }
}

/** The id of the post that a transaction created; null if it created none. */
export function createdPostId(receipt: Receipt, marketplace: Address): string | null {
  const created = receipt.logs.find(
    ({ address, topics }) =>
      address.toLowerCase() === marketplace.toLowerCase() && topics[0] === POST_CREATED,
  );
  return created?.topics[1] ? BigInt(created.topics[1]).toString() : null;
}

/**
 * Whether a node confirms the proof of a post: that this author published this document at this
 * marketplace, in this log, transaction and block of this chain. Throws if the node is on another
 * chain.
 *
 * Anybody can deploy a contract that emits such logs, so take the marketplace from a source that
 * you trust, such as `imprint.facts.chain`, and not from the proof.
 */
export async function verifyProof(
  provider: Provider,
  proof: PostProof,
  { id, marketplace }: Pick<ChainFacts, "id" | "marketplace">,
): Promise<boolean> {
  const ask = async <T>(method: string, ...params: unknown[]) =>
    (await provider.request({ method, params })) as T;
  if (Number(await ask<Hex>("eth_chainId")) !== id)
    throw new Error(`The node is not on chain ${id}.`);
  const { block, chainId, log } = proof;
  const isSameContract = (address: Address) => address.toLowerCase() === marketplace.toLowerCase();
  if (chainId !== id || !isSameContract(log.address)) return false;
  const [found, receipt] = await Promise.all([
    ask<FoundBlock | null>("eth_getBlockByNumber", `0x${block.number.toString(16)}`, false),
    ask<FoundReceipt | null>("eth_getTransactionReceipt", proof.transaction),
  ]);
  if (!found || found.hash !== block.hash || receipt?.blockHash !== block.hash) return false;
  if (Number(found.timestamp) * 1000 !== Date.parse(proof.createdAt)) return false;
  const emitted = receipt.logs.find(({ logIndex }) => Number(logIndex) === log.index);
  const topics = [POST_CREATED, `0x${word(BigInt(proof.id))}`, `0x${word(BigInt(proof.author))}`];
  return (
    emitted !== undefined &&
    isSameContract(emitted.address) &&
    [log.topics, emitted.topics].every((each) => each.join() === topics.join()) &&
    isSameCid(readText(emitted.data, 1), proof.cid)
  );
}

interface FoundBlock {
  hash: Hex;
  timestamp: Hex;
}

interface FoundReceipt {
  blockHash: Hex;
  logs: (Log & { logIndex: Hex })[];
}

/** A text among the ABI-encoded values of a log; empty if there is none at this position. */
function readText(data: Hex, place: number): string {
  const bytes = Uint8Array.from(data.slice(2).match(/../g) ?? [], (pair) =>
    Number.parseInt(pair, 16),
  );
  const number = (at: number) =>
    bytes.subarray(at, at + 32).reduce((found, byte) => found * 256 + byte, 0);
  const at = number(32 * place);
  return new TextDecoder().decode(bytes.subarray(at + 32, at + 32 + number(at)));
}

/** How many tokens of a post an address holds. */
export async function balanceOf(
  provider: Provider,
  marketplace: Address,
  address: Address,
  postId: string | bigint,
): Promise<bigint> {
  const data = `${SELECTORS.balanceOf}${word(BigInt(address))}${word(BigInt(postId))}`;
  const params = [{ to: marketplace, data }, "latest"];
  return BigInt((await provider.request({ method: "eth_call", params })) as Hex);
}

/** A number as 32 bytes in hexadecimal. */
const word = (number: bigint): string => number.toString(16).padStart(64, "0");
