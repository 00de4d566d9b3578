/** What the chain itself says of a post and an account, by the wallet's node. */

import { type Address, balanceOf, type Provider } from "imprint-press";
import { facts } from "../page/facts.ts";
import type { Standing } from "./purchase.ts";

const GET_POST_INFO = "0xeba1e3b3";
/** The place of the price among the values of `getPostInfo`. */
const PRICE_PLACE = 5;
const WORD = 64;

/** The price of a post now, in wei. */
export async function readPrice(provider: Provider, postId: string): Promise<bigint> {
  const data = GET_POST_INFO + BigInt(postId).toString(16).padStart(WORD, "0");
  const params = [{ to: facts.chain.marketplace, data }, "latest"];
  return decodePrice(String(await provider.request({ method: "eth_call", params })));
}

/** The price in what `getPostInfo` returns. Throws `RangeError` if it is none. */
export function decodePrice(returned: string): bigint {
  const word = (place: number) => returned.slice(2 + place * WORD, 2 + (place + 1) * WORD);
  // A contract that returns one struct puts the offset of it, 32, in front.
  const first = BigInt(`0x${word(0) || "0"}`) === 32n ? 1 : 0;
  const price = word(PRICE_PLACE + first);
  if (price.length !== WORD) throw new RangeError("The marketplace does not know this post.");
  return BigInt(`0x${price}`);
}

/** Whether an account holds a post, and how many transactions it has sent. */
export async function readStanding(
  provider: Provider,
  account: Address,
  postId: string,
): Promise<Standing> {
  const count = async (block: "pending" | "latest") =>
    Number(await provider.request({ method: "eth_getTransactionCount", params: [account, block] }));
  const [balance, nonce, mined] = await Promise.all([
    balanceOf(provider, facts.chain.marketplace, account, postId),
    count("pending"),
    count("latest"),
  ]);
  return { balance, nonce, isSettled: mined >= nonce };
}
