/** Finds out what happened to a transaction that a wallet was asked to send. */

import type { Hex, Receipt } from "imprint-press";
import type { Retries } from "./retries.ts";

/** The chain as a node shows it to one account. */
export interface Chain {
  /** Throws if the wallet is on another chain, whose responses would be meaningless. */
  check(): Promise<void>;
  /** How many transactions the account has sent: only mined ones, or including pending ones. */
  countTransactions(which: "latest" | "pending"): Promise<number>;
  findReceipt(hash: Hex): Promise<Receipt | null>;
  /** The nonce of a transaction; null if the node does not know it. */
  findNonce(hash: Hex): Promise<number | null>;
}

export type Followed =
  | { readonly kind: "mined"; readonly receipt: Receipt }
  /** The account has used its nonce for another transaction. */
  | { readonly kind: "replaced" }
  /** The node has not known the transaction for minutes. */
  | { readonly kind: "unknown" }
  | { readonly kind: "pending" };

/** The number of polls before the user is told that it takes a long time: about ten minutes. */
const MAX_POLLS = 170;
/** Consecutive polls without a trace before a used nonce means a replacement: nodes may lag. */
const REPLACED_POLLS = 6;
/** Consecutive polls without a trace before a transaction is unknown: about four minutes. */
const UNKNOWN_POLLS = 80;
/** Consecutive polls without pending transactions before the response is lost: nodes may lag. */
const SETTLED_POLLS = 3;

/**
 * Follow a transaction; `nonce` was the account's next nonce before it, as far as the node knew.
 */
export async function followTransaction(
  chain: Chain,
  retries: Retries,
  { hash, nonce }: { hash: Hex; nonce: number },
): Promise<Followed> {
  let used = nonce;
  let lost = 0;
  for (let poll = 0; poll < MAX_POLLS; poll += 1) {
    await retries.ask(() => chain.check());
    const receipt = await retries.ask(() => chain.findReceipt(hash));
    if (receipt) return { kind: "mined", receipt };
    const known = await retries.ask(() => chain.findNonce(hash));
    if (known !== null) [used, lost] = [known, 0];
    else {
      lost += 1;
      const isUsed = (await retries.ask(() => chain.countTransactions("latest"))) > used;
      if (isUsed && lost >= REPLACED_POLLS) return { kind: "replaced" };
      if (lost >= UNKNOWN_POLLS) return { kind: "unknown" };
    }
    await retries.rest(poll);
  }
  return { kind: "pending" };
}

/**
 * The wallet was asked, and its response is lost: find out what it did.
 *
 * `isDone` retries on its own. `lost`: no pending transaction can be it, and the chain lacks its
 * effect. `unsettled`: the account has pending transactions, and this may be one of them.
 */
export async function searchTransaction(
  chain: Chain,
  retries: Retries,
  nonce: number,
  isDone: () => Promise<boolean>,
): Promise<"done" | "lost" | "unsettled"> {
  let settled = 0;
  for (let poll = 0; poll < MAX_POLLS; poll += 1) {
    await retries.ask(() => chain.check());
    // In this order: a transaction mined in between is found as done.
    const mined = await retries.ask(() => chain.countTransactions("latest"));
    const sent = await retries.ask(() => chain.countTransactions("pending"));
    if (await isDone()) return "done";
    if (sent <= nonce) return "lost";
    settled = mined >= sent ? settled + 1 : 0;
    if (settled >= SETTLED_POLLS) return "lost";
    await retries.rest(poll);
  }
  return "unsettled";
}
