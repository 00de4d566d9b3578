/** The accounts of the development chain: its node signs for them, so there is no prompt. */

import { type Address, httpProvider, type Provider, walletOfProvider } from "imprint-press";
import { facts, isDevelopment } from "../page/facts.ts";
import type { Account } from "./account.ts";
import { NodeUnreachable } from "./failures.ts";

/** The id that all of these accounts use instead of a wallet's id. */
export const DEVELOPMENT = "development";

/** Names in the order of the accounts, with the role of each. */
const NAMES = [
  "Ada (author)",
  "Ben (reader)",
  "Cleo (reader)",
  "Dan (author)",
  "Eva (reader)",
  "Finn (reader)",
  "Gus (reader)",
  "Hana (author)",
  "Ida (reader)",
  "Jon (reader)",
];

/** The node of `imprint dev`; null in production. */
export const developmentNode: Provider | null =
  isDevelopment && facts.chain.rpc_url !== undefined ? nodeProvider(facts.chain.rpc_url) : null;

/** All accounts of the development chain; none in production. Throws `NodeUnreachable`. */
export async function developmentAccounts(): Promise<Account[]> {
  const node = developmentNode;
  if (node === null) return [];
  const addresses = (await node.request({ method: "eth_accounts" })) as Address[];
  return addresses.map((address, index) => ({
    address,
    wallet: walletOfProvider(node, address),
    provider: node,
    name: NAMES[index] ?? `Account ${index}`,
    icon: null,
  }));
}

function nodeProvider(rpcUrl: string): Provider {
  const node = httpProvider(rpcUrl);
  return {
    async request(args) {
      try {
        return await node.request(args);
      } catch (error) {
        // A node that refuses has a code; anything else is a node that does not respond.
        if (error instanceof Error && "code" in error) throw error;
        throw new NodeUnreachable(error);
      }
    },
  };
}
