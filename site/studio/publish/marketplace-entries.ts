/** What the marketplace has of a text, and why it would refuse a transaction. */

import type { Address, Call, Hex, Provider } from "imprint-press";

/** The post with a cid, spelled exactly so. */
export interface Entry {
  readonly postId: string;
  readonly author: Address;
}

/** Members of the tuple before the price; each takes a word at its beginning. */
const BEFORE_PRICE = 5;

const POST_OF_CID = "0xe8be2748";
const ENTRY_OF_POST = "0xeba1e3b3";

/** The marketplace's entry of a cid; null if nobody has published it. */
export async function findEntry(
  provider: Provider,
  marketplace: Address,
  cid: string,
): Promise<Entry | null> {
  const ask = async (data: Hex) =>
    (await provider.request({
      method: "eth_call",
      params: [{ to: marketplace, data }, "latest"],
    })) as Hex;
  const postId = BigInt(await ask(`${POST_OF_CID}${encodeText(cid)}`));
  if (postId === 0n) return null;
  const entry = await ask(`${ENTRY_OF_POST}${word(postId)}`);
  // A tuple of variable length: its place, then its members, of which the author is the first.
  return { postId: postId.toString(), author: `0x${entry.slice(2 + 64 + 24, 2 + 128)}` };
}

/** How many transactions an account has sent: those that are mined, or those that wait as well. */
export async function countTransactions(
  provider: Provider,
  address: Address,
  which: "latest" | "pending",
): Promise<number> {
  const params = [address, which];
  return Number(await provider.request({ method: "eth_getTransactionCount", params }));
}

/** The number of a transaction, mined or waiting; null if the node does not know it. */
export async function findNonce(provider: Provider, hash: Hex): Promise<number | null> {
  const params = [hash];
  const found = (await provider.request({ method: "eth_getTransactionByHash", params })) as {
    nonce: Hex;
  } | null;
  return found && Number(found.nonce);
}

/** The price of a post in wei, as the marketplace has it now. */
export async function readPrice(
  provider: Provider,
  marketplace: Address,
  postId: string,
): Promise<bigint> {
  const data = `${ENTRY_OF_POST}${word(BigInt(postId))}`;
  const params = [{ to: marketplace, data }, "latest"];
  const entry = (await provider.request({ method: "eth_call", params })) as Hex;
  const at = 2 + 64 * (1 + BEFORE_PRICE);
  return BigInt(`0x${entry.slice(at, at + 64)}`);
}

/** What a call would cost at most now, in wei: gas by the node, at its present price. */
export async function estimateFee(
  provider: Provider,
  from: Address,
  { to, data }: Call,
): Promise<bigint> {
  const ask = async (method: string, params: unknown[]) =>
    BigInt((await provider.request({ method, params })) as Hex);
  const [gas, price] = await Promise.all([
    ask("eth_estimateGas", [{ from, to, data }]),
    ask("eth_gasPrice", []),
  ]);
  return gas * price;
}

/** Try a call without sending it: the sentence of its refusal, or null if it would succeed.
 *
 * Throws what is no refusal of the contract, such as a node that is away.
 */
export async function findRefusal(
  provider: Provider,
  from: Address,
  { to, data }: Call,
): Promise<string | null> {
  try {
    await provider.request({ method: "eth_call", params: [{ from, to, data }, "latest"] });
    return null;
  } catch (error) {
    const sentence = refusalSentence(error);
    if (sentence === null) throw error;
    return sentence;
  }
}

/** By the first four bytes of what the contract reverts with. */
export const REFUSALS: Readonly<Record<Hex, string>> = {
  "0xa6afc551": "The text has no cid. Save it again, then publish.",
  "0x7b639cd0": "This version of the text is on the chain already.",
  "0xe508b9dc": "The marketplace wants a title. Go back and give the post one.",
  "0x83dc6558": "The title is too long for the marketplace: at most 100 bytes.",
  "0xf65547a0": "The post has no picture. Go back and choose one.",
  "0x71a24cf3": "The description is too long for the marketplace: at most 500 bytes.",
  "0x87ebe85d": "The price is above the highest that the marketplace accepts, which is 1.",
  "0x91f2ffcb": "The marketplace has no such post.",
  "0xf08ad054": "Only the author of the post can do this. Switch to the author’s account.",
  "0x2da0a2f5": "The post has more hashtags than the marketplace accepts: at most 10.",
};

const UNNAMED = "The marketplace refuses this transaction, without saying why.";

/** The sentence of what the contract reverted with; null if the error is of another kind. */
export function refusalSentence(error: unknown): string | null {
  let isRevert = false;
  const seen = new Set<unknown>();
  const look = (value: unknown): string | null => {
    if (typeof value === "string") {
      const selector = /0x[0-9a-f]{8}/i.exec(value)?.[0].toLowerCase() as Hex | undefined;
      isRevert ||= /revert/i.test(value);
      return (selector && REFUSALS[selector]) ?? null;
    }
    if (typeof value !== "object" || value === null || seen.has(value) || seen.size > 8)
      return null;
    seen.add(value);
    const { data, message, cause, originalError, error: inner } = value as Record<string, unknown>;
    isRevert ||= (value as { code?: unknown }).code === 3;
    for (const each of [data, originalError, cause, inner, message]) {
      const found = look(each);
      if (found) return found;
    }
    return null;
  };
  return look(error) ?? (isRevert ? UNNAMED : null);
}

const word = (number: bigint): string => number.toString(16).padStart(64, "0");

/** One text as the only argument of a call. */
function encodeText(text: string): string {
  const bytes = new TextEncoder().encode(text);
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const padded = hex.padEnd(Math.ceil(hex.length / 64) * 64, "0");
  return word(32n) + word(BigInt(bytes.length)) + padded;
}
