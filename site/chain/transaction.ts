/** A transaction on its way: until it is mined, replaced by another, or dropped. */

import { findReceipt, type Hex, type Provider, type Receipt } from "imprint-press";

/** The account sent another transaction in its place, as wallets do to speed up or cancel. */
export class Replaced extends Error {
  override readonly name = "Replaced";
}

/** No node knows the transaction any more. */
export class Dropped extends Error {
  override readonly name = "Dropped";
}

/** It is still not mined; following may go on later. */
export class StillPending extends Error {
  override readonly name = "StillPending";
}

export interface Following {
  signal?: AbortSignal;
  /** Called before each look, with the number of looks so far; waits in between. */
  pause?: (looks: number) => Promise<void>;
  /** After how many looks `StillPending` is thrown. */
  most?: number;
}

/** Looks in a row without a trace of the transaction until it counts as dropped. */
const LOST_LOOKS = 8;
/** Failures of the node in a row that are waited out. */
const FAILED_LOOKS = 4;
const MOST_LOOKS = 400;

/** Half a second at first, then longer, up to four. */
const backOff = (looks: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, Math.min(500 * 1.15 ** looks, 4000)));

/** The receipt of a transaction once it is mined, also if it was reverted.
 *
 * Throws `Replaced`, `Dropped`, `StillPending`, what the signal is aborted with, or what the node
 * fails with again and again.
 */
export async function followTransaction(
  provider: Provider,
  hash: Hex,
  { signal, pause = backOff, most = MOST_LOOKS }: Following = {},
): Promise<Receipt> {
  let [lost, failed] = [0, 0];
  let sender: { from: Hex; nonce: number } | null = null;
  for (let looks = 0; looks < most; looks += 1) {
    signal?.throwIfAborted();
    try {
      const receipt = await findReceipt(provider, hash);
      if (receipt) return receipt;
      const seen = await findTransaction(provider, hash);
      if (seen) [sender, lost] = [seen, 0];
      else lost += 1;
      failed = 0;
    } catch (error) {
      failed += 1;
      if (failed >= FAILED_LOOKS) throw error;
    }
    if (lost > 1 && sender && (await countMined(provider, sender.from)) > sender.nonce) {
      // It may have been mined between the two looks.
      const receipt = await findReceipt(provider, hash);
      if (receipt) return receipt;
      throw new Replaced();
    }
    if (lost >= LOST_LOOKS) throw new Dropped();
    await pause(looks);
  }
  throw new StillPending();
}

async function findTransaction(provider: Provider, hash: Hex) {
  const params = [hash];
  const found = (await provider.request({ method: "eth_getTransactionByHash", params })) as {
    from: Hex;
    nonce: Hex;
  } | null;
  return found && { from: found.from, nonce: Number(found.nonce) };
}

async function countMined(provider: Provider, address: Hex): Promise<number> {
  const params = [address, "latest"];
  return Number(await provider.request({ method: "eth_getTransactionCount", params }));
}
