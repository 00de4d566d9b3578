/** What became of a transaction that a wallet was asked to send. */

import type { Hex, Receipt } from "imprint-press";
import type { Retries } from "./retries.ts";

/** The chain as a node shows it to one account. */
export interface Chain {
  /** Throws if the wallet is on another chain, whose responses would mean nothing. */
  check(): Promise<void>;
  /** How many transactions the account has sent: mined ones, or those that wait as well. */
  countTransactions(which: "latest" | "pending"): Promise<number>;
  findReceipt(hash: Hex): Promise<Receipt | null>;
  /** The nonce of a transaction; null if the node does not know it. */
  findNonce(hash: Hex): Promise<number | null>;
}

export type Followed =
  | { readonly kind: "mined"; readonly receipt: Receipt }
  /** The account has used its nonce for another transaction. */
  | { readonly kind: "replaced" }
  /** The node does not know it, and has not for minutes. */
  | { readonly kind: "unknown" }
  | { readonly kind: "pending" };

/** Looks before anybody is told that it takes long: about ten minutes. */
const LOOKS = 170;
/** Looks in a row without a trace until a used nonce counts: nodes lag behind one another. */
const REPLACED_LOOKS = 6;
/** Looks in a row without a trace and with a free nonce: about four minutes. */
const UNKNOWN_LOOKS = 80;
/** Looks in a row at an account of which nothing waits, until its blocks count: nodes lag. */
const SETTLED_LOOKS = 3;

/** Follow a transaction; `nonce` is the one that was free before, as far as the node knew. */
export async function followTransaction(
  chain: Chain,
  retries: Retries,
  { hash, nonce }: { hash: Hex; nonce: number },
): Promise<Followed> {
  let used = nonce;
  let lost = 0;
  for (let look = 0; look < LOOKS; look += 1) {
    await retries.ask(() => chain.check());
    const receipt = await retries.ask(() => chain.findReceipt(hash));
    if (receipt) return { kind: "mined", receipt };
    const known = await retries.ask(() => chain.findNonce(hash));
    if (known !== null) [used, lost] = [known, 0];
    else {
      lost += 1;
      const isUsed = (await retries.ask(() => chain.countTransactions("latest"))) > used;
      if (isUsed && lost >= REPLACED_LOOKS) return { kind: "replaced" };
      if (lost >= UNKNOWN_LOOKS) return { kind: "unknown" };
    }
    await retries.rest(look);
  }
  return { kind: "pending" };
}

/** The wallet was asked, and its response is lost: look for what it did.
 *
 * `isDone` asks again by itself. `lost`: nothing that waits can be it, and the chain does not have
 * what it was to do. `unsettled`: transactions of the account wait, and one of them may be it.
 */
export async function searchTransaction(
  chain: Chain,
  retries: Retries,
  nonce: number,
  isDone: () => Promise<boolean>,
): Promise<"done" | "lost" | "unsettled"> {
  let settled = 0;
  for (let look = 0; look < LOOKS; look += 1) {
    await retries.ask(() => chain.check());
    // In this order: what is mined in between is found as done.
    const mined = await retries.ask(() => chain.countTransactions("latest"));
    const sent = await retries.ask(() => chain.countTransactions("pending"));
    if (await isDone()) return "done";
    if (sent <= nonce) return "lost";
    settled = mined >= sent ? settled + 1 : 0;
    if (settled >= SETTLED_LOOKS) return "lost";
    await retries.rest(look);
  }
  return "unsettled";
}
