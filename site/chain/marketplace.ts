/** Posts and holders as recorded by the marketplace, read through the wallet's node. */

import { type Address, balanceOf, type Hex, type Provider, SELECTORS } from "imprint-press";
import { facts } from "../page/facts.ts";
import { WORDS } from "../page/words.ts";

/** A post as recorded by the marketplace. */
export interface Entry {
  readonly author: Address;
  /** In wei. */
  readonly price: bigint;
}

const WORD = 64;
/** The index of the price among the values of an entry; the author is the first. */
const PRICE_PLACE = 5;

/** The current price of a post, in wei. */
export async function readPrice(provider: Provider, postId: string): Promise<bigint> {
  return (await readEntry(provider, BigInt(postId))).price;
}

/** The post with exactly this cid; null if nobody has published it. */
export async function findEntry(
  provider: Provider,
  cid: string,
): Promise<(Entry & { readonly postId: string }) | null> {
  const postId = BigInt(await call(provider, SELECTORS.postCidToTokenId + encodeText(cid)));
  if (postId === 0n) return null;
  return { postId: postId.toString(), ...(await readEntry(provider, postId)) };
}

/** Whether an account holds a post. */
export async function isHolder(
  provider: Provider,
  account: Address,
  postId: string,
): Promise<boolean> {
  return (await balanceOf(provider, facts.chain.marketplace, account, postId)) > 0n;
}

/** The current author and price of a post. */
export async function readEntry(provider: Provider, postId: bigint): Promise<Entry> {
  return decodeEntry(await call(provider, SELECTORS.getPostInfo + word(postId)));
}

/** The entry in the result of `getPostInfo`. Throws `RangeError` if there is none. */
export function decodeEntry(returned: string): Entry {
  const wordAt = (place: number) => returned.slice(2 + place * WORD, 2 + (place + 1) * WORD);
  // A contract that returns one struct puts its offset, 32, in front.
  const first = BigInt(`0x${wordAt(0) || "0"}`) === 32n ? 1 : 0;
  const price = wordAt(first + PRICE_PLACE);
  if (price.length !== WORD) throw new RangeError(WORDS.marketplaceDoesNotKnow);
  return { author: `0x${wordAt(first).slice(24)}`, price: BigInt(`0x${price}`) };
}

async function call(provider: Provider, data: string): Promise<Hex> {
  const params = [{ to: facts.chain.marketplace, data }, "latest"];
  return (await provider.request({ method: "eth_call", params })) as Hex;
}

const word = (number: bigint): string => number.toString(16).padStart(WORD, "0");

/** The ABI encoding of a text that is the only argument of a call. */
function encodeText(text: string): string {
  const bytes = new TextEncoder().encode(text);
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const padded = hex.padEnd(Math.ceil(hex.length / WORD) * WORD, "0");
  return word(32n) + word(BigInt(bytes.length)) + padded;
}
