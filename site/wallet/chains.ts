/** The chain of a wallet, and how it switches to that of the service. */

import type { Provider } from "imprint-press";
import { facts } from "../page/facts.ts";
import { WrongChain } from "./failures.ts";

/** The error code of wallets for an unknown chain; some wrap it in another error. */
const UNKNOWN_CHAIN = 4902;

/**
 * Have the wallet switch to the chain of the service, or add it. It may prompt its owner.
 *
 * Throws `WrongChain` if the wallet stays where it is, or what the wallet throws.
 */
export async function switchChain(provider: Provider): Promise<void> {
  if ((await readChain(provider)) === facts.chain.id) return;
  const chainId = `0x${facts.chain.id.toString(16)}`;
  try {
    await provider.request({ method: "wallet_switchEthereumChain", params: [{ chainId }] });
  } catch (error) {
    if (!isUnknownChain(error)) throw error;
    await addChain(provider, chainId, error);
  }
  const chain = await readChain(provider);
  if (chain !== facts.chain.id) throw new WrongChain(chain);
}

/** The chain id of a wallet or a node. */
export async function readChain(provider: Provider): Promise<number> {
  return Number(await provider.request({ method: "eth_chainId" }));
}

async function addChain(provider: Provider, chainId: string, unknown: unknown): Promise<void> {
  const { name, coin, rpc_url, explorer_url } = facts.chain;
  // A wallet can add only a chain whose node the operator publishes.
  if (rpc_url === undefined) throw unknown;
  const chain = {
    chainId,
    chainName: name,
    rpcUrls: [rpc_url],
    nativeCurrency: { name: coin.symbol, ...coin },
    ...(explorer_url === undefined ? {} : { blockExplorerUrls: [explorer_url] }),
  };
  await provider.request({ method: "wallet_addEthereumChain", params: [chain] });
  if ((await readChain(provider)) !== facts.chain.id)
    await provider.request({ method: "wallet_switchEthereumChain", params: [{ chainId }] });
}

function isUnknownChain(error: unknown): boolean {
  const { code, data } = (error ?? {}) as {
    code?: unknown;
    data?: { originalError?: { code?: unknown } };
  };
  return code === UNKNOWN_CHAIN || data?.originalError?.code === UNKNOWN_CHAIN;
}
