/**
 * What a wallet's node knows about an account and its transactions, and whether it responds at all.
 */

import {
  type Address,
  type Call,
  findReceipt,
  type Hex,
  type Provider,
  Refusal,
  Unreachable,
} from "imprint-press";
import { facts } from "../page/facts.ts";
import { WORDS } from "../page/words.ts";
import { readChain } from "../wallet/chains.ts";
import { explain, WrongChain } from "../wallet/failures.ts";
import { pause, type RetryPorts } from "./retries.ts";
import type { Chain } from "./transaction.ts";

/** The chain as seen by the wallet of an account. `provider` throws if that account is gone. */
export function chainOf(address: Address, provider: () => Provider): Chain {
  return {
    async check() {
      const found = await readChain(provider());
      if (found !== facts.chain.id) throw new WrongChain(found);
    },
    countTransactions: (which) => countTransactions(provider(), address, which),
    findReceipt: (hash) => findReceipt(provider(), hash),
    findNonce: (hash) => findNonce(provider(), hash),
  };
}

/** How many transactions an account has sent: only mined ones, or including pending ones. */
async function countTransactions(
  provider: Provider,
  address: Address,
  which: "latest" | "pending",
): Promise<number> {
  const params = [address, which];
  return Number(await provider.request({ method: "eth_getTransactionCount", params }));
}

/** The nonce of a transaction, mined or pending; null if the node does not know it. */
async function findNonce(provider: Provider, hash: Hex): Promise<number | null> {
  const params = [hash];
  const found = (await provider.request({ method: "eth_getTransactionByHash", params })) as {
    nonce: Hex;
  } | null;
  return found && Number(found.nonce);
}

/** The current maximum cost of a call in wei: the node's gas estimate at its current price. */
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

/** The balance of an account, in wei. */
export async function readFunds(provider: Provider, address: Address): Promise<bigint> {
  const funds = await provider.request({ method: "eth_getBalance", params: [address, "latest"] });
  return BigInt(String(funds));
}

/** Error codes of wallets whose node is briefly busy or away (EIP-1474, EIP-1193). */
const AWAY = [-32005, 4900, 4901];

/** The name of whoever does not respond, if a retry may help; otherwise null. */
function nameSilent(error: unknown): string | null {
  if (error instanceof Unreachable) return navigator.onLine ? WORDS.theService : WORDS.theNetwork;
  if (error instanceof Refusal)
    return error.status === 429 || error.status >= 500 ? WORDS.theService : null;
  const { code } = (error ?? {}) as { code?: unknown };
  return AWAY.includes(Number(code)) || explain(error).hasNoResponse ? WORDS.theNetwork : null;
}

/** How this page retries requests. */
export const RETRY_PORTS: RetryPorts = {
  nameSilent,
  pause,
};
