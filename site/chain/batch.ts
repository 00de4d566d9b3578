/** Several calls as one atomic batch, for wallets that support it (EIP-5792). */

import type { Address, Call, Hex, Provider } from "imprint-press";
import { WORDS } from "../page/words.ts";

/** The number of polls of a batch, a second apart, before the page stops waiting for it. */
const MAX_POLLS = 600;

/** The wallet will not put the batch on the chain. */
export class BatchDropped extends Error {
  override readonly name = "BatchDropped";
}

interface BatchStatus {
  readonly status?: number;
  readonly receipts?: readonly { readonly transactionHash: Hex }[];
}

/**
 * Whether the wallet sends batches of this account atomically. A wallet that would first have to
 * turn the account into a contract does not count.
 */
export async function canBatch(
  provider: Provider,
  address: Address,
  chainId: number,
): Promise<boolean> {
  const chain = hex(BigInt(chainId));
  try {
    const params = [address, [chain]];
    const found = (await provider.request({ method: "wallet_getCapabilities", params })) as Record<
      string,
      { atomic?: { status?: string } } | undefined
    >;
    return (found[chain] ?? found["0x0"])?.atomic?.status === "supported";
  } catch {
    // Most wallets do not know the method.
    return false;
  }
}

/** Have the wallet send all calls or none, and return the id of the batch. */
export async function sendBatch(
  provider: Provider,
  from: Address,
  calls: readonly Call[],
  chainId: number,
): Promise<string> {
  const batch = {
    version: "2.0.0",
    from,
    chainId: hex(BigInt(chainId)),
    atomicRequired: true,
    calls: calls.map(({ to, data, value = 0n }) => ({ to, data, value: hex(value) })),
  };
  const sent = await provider.request({ method: "wallet_sendCalls", params: [batch] });
  // Earlier versions of the standard return the id alone.
  return typeof sent === "string" ? sent : (sent as { id: string }).id;
}

/**
 * Wait until the wallet has put a batch on the chain, and return the hash of its transaction.
 *
 * Throws `BatchDropped` if nothing was sent, and what the wallet throws.
 */
export async function followBatch(
  provider: Provider,
  id: string,
  pause: (seconds: number) => Promise<void>,
): Promise<Hex> {
  for (let poll = 0; poll < MAX_POLLS; poll += 1) {
    const found = await provider.request({ method: "wallet_getCallsStatus", params: [id] });
    const { status = 0, receipts = [] } = found as BatchStatus;
    const receipt = receipts.at(-1);
    if (status >= 200 && receipt) return receipt.transactionHash;
    if (status >= 400) throw new BatchDropped();
    await pause(1);
  }
  throw new Error(WORDS.walletDoesNotSay);
}

const hex = (number: bigint): Hex => `0x${number.toString(16)}`;
