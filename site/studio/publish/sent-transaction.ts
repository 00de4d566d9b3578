/** What became of a transaction that a wallet was asked to send. */

import type { Hex, Receipt } from "imprint-press";
import type { Patience } from "./patience.ts";

export interface Chain {
  /** Throws if the wallet is on another chain, whose responses would mean nothing. */
  check(): Promise<void>;
  /** How many transactions the account has sent: mined ones, or those that wait as well. */
  countTransactions(which: "latest" | "pending"): Promise<number>;
  findReceipt(hash: Hex): Promise<Receipt | null>;
  /** The number of a transaction among those of its account; null if the node does not know it. */
  findNonce(hash: Hex): Promise<number | null>;
}

export type Followed =
  | { readonly kind: "mined"; readonly receipt: Receipt }
  /** The account has used its number for another transaction. */
  | { readonly kind: "replaced" }
  /** The node does not know it, and has not for minutes. */
  | { readonly kind: "unknown" }
  | { readonly kind: "pending" };

/** Looks before the author is told that it takes long: about ten minutes. */
const LOOKS = 170;
/** Looks in a row without a trace until a used number counts: nodes lag behind one another. */
const REPLACED_LOOKS = 6;
/** Looks in a row without a trace and with a free number: about four minutes. */
const UNKNOWN_LOOKS = 80;

/** Follow a transaction; `nonce` is its number as far as it is known. */
export async function followTransaction(
  chain: Chain,
  patience: Patience,
  { hash, nonce }: { hash: Hex; nonce: number },
): Promise<Followed> {
  let number = nonce;
  let lost = 0;
  for (let look = 0; look < LOOKS; look += 1) {
    await patience.ask(() => chain.check());
    const receipt = await patience.ask(() => chain.findReceipt(hash));
    if (receipt) return { kind: "mined", receipt };
    const known = await patience.ask(() => chain.findNonce(hash));
    if (known !== null) [number, lost] = [known, 0];
    else {
      lost += 1;
      const isUsed = (await patience.ask(() => chain.countTransactions("latest"))) > number;
      if (isUsed && lost >= REPLACED_LOOKS) return { kind: "replaced" };
      if (lost >= UNKNOWN_LOOKS) return { kind: "unknown" };
    }
    await patience.rest(look);
  }
  return { kind: "pending" };
}

/** The wallet was asked before a reload, and its response is lost: look for what it did.
 *
 * `unsent`: the chain has no transaction of the account since then. `other`: it has, but none that
 * did this. `pending`: some wait, and one of them may be it.
 */
export async function searchTransaction(
  chain: Chain,
  patience: Patience,
  nonce: number,
  isDone: () => Promise<boolean>,
): Promise<"done" | "unsent" | "other" | "pending"> {
  for (let look = 0; look < LOOKS; look += 1) {
    await patience.ask(() => chain.check());
    // In this order: what is mined in between is found as done.
    const mined = await patience.ask(() => chain.countTransactions("latest"));
    const sent = await patience.ask(() => chain.countTransactions("pending"));
    if (await patience.ask(isDone)) return "done";
    if (sent <= nonce) return "unsent";
    if (mined >= sent) return "other";
    await patience.rest(look);
  }
  return "pending";
}
