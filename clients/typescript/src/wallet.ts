/** Wallets: those of browsers (EIP-1193), and private keys. */

import { isAddress as isAddressOfViem } from "viem/utils";
import { Unreachable } from "./problems.js";
import type { Address, Hex } from "./records.js";
import type { TypedData } from "./typed-data.js";

/** Whether a text is an address. In mixed case, it must have a valid checksum (EIP-55). */
export const isAddress = (text: string): text is Address => isAddressOfViem(text);

/** A transaction for a wallet to send. */
export interface Call {
  to: Address;
  data: Hex;
  value?: bigint;
  /** The chain of the transaction; a wallet on another chain refuses it. */
  chainId?: number;
}

/** A signer of writes: a wallet, or a writing session for it. */
export interface Signer {
  readonly address: Address;
  /** The id of a writing session; a wallet has none. */
  readonly sessionId?: string;
  signTypedData(data: TypedData): Promise<Hex>;
  /** Delete the key of a writing session that the service refuses. */
  forget?(): Promise<void>;
}

/** An account that can sign: a browser wallet (EIP-1193) or a private key. */
export interface Wallet extends Signer {
  signMessage(message: string): Promise<Hex>;
  /** Returns the hash of the transaction, which is not mined yet. */
  sendTransaction(call: Call): Promise<Hex>;
}

/** A node or a wallet that handles requests (EIP-1193). */
export interface Provider {
  request(args: { method: string; params?: unknown }): Promise<unknown>;
}

/** A private key or a contract wallet, like viem's accounts. */
export interface Account {
  readonly address: Address;
  signMessage(args: { message: string }): Promise<Hex>;
  // viem's own parameters are generic over the types that are signed.
  // biome-ignore lint/suspicious/noExplicitAny: the parameters of every account fit
  signTypedData(data: any): Promise<Hex>;
  // biome-ignore lint/suspicious/noExplicitAny: the parameters of every account fit
  signTransaction?(transaction: any): Promise<Hex>;
}

/**
 * The error with which a node or a wallet refused a request; 4001 is a rejection by the user
 * (EIP-1193).
 */
export class ProviderError extends Error {
  override readonly name = "ProviderError";

  constructor(
    message: string,
    readonly code: number,
    readonly data?: unknown,
  ) {
    super(message);
  }
}

/** An account of a browser's wallet, or one whose key is held by a node. */
export function walletOfProvider(provider: Provider, address: Address): Wallet {
  const ask = async (method: string, params: unknown[]) =>
    (await provider.request({ method, params })) as Hex;
  return {
    address,
    signMessage: (message) => ask("personal_sign", [hexOfText(message), address]),
    signTypedData: (data) => ask("eth_signTypedData_v4", [address, textOfTypedData(data)]),
    sendTransaction: ({ to, data, value = 0n, chainId }) => {
      const pinned = chainId !== undefined && { chainId: hexOfNumber(BigInt(chainId)) };
      const sent = { from: address, to, data, value: hexOfNumber(value), ...pinned };
      return ask("eth_sendTransaction", [sent]);
    },
  };
}

/** A local key; it sends its transactions through a provider. */
export function walletOfAccount(account: Account, provider?: Provider): Wallet {
  return {
    address: account.address,
    signMessage: (message) => account.signMessage({ message }),
    signTypedData: (data) => account.signTypedData(data),
    async sendTransaction(call) {
      if (!provider || !account.signTransaction)
        throw new TypeError("This wallet only signs: give it an account and a provider that send.");
      const transaction = await prepareTransaction(provider, account.address, call);
      const params = [await account.signTransaction(transaction)];
      return (await provider.request({ method: "eth_sendRawTransaction", params })) as Hex;
    },
  };
}

/**
 * A node's JSON-RPC URL as a provider.
 *
 * Throws `ProviderError` if the node refuses, and `Unreachable` if no node responds.
 */
export function httpProvider(
  rpcUrl: string,
  fetch: typeof globalThis.fetch = globalThis.fetch,
): Provider {
  let id = 0;
  return {
    async request({ method, params = [] }) {
      id += 1;
      const init = {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ jsonrpc: "2.0", id, method, params }),
      };
      const { result, error } = await readResult(fetch(rpcUrl, init));
      if (error) throw new ProviderError(error.message, error.code, error.data);
      return result;
    },
  };
}

interface RpcResult {
  result?: unknown;
  error?: { code: number; message: string; data?: unknown };
}

/** A node's result, whatever the HTTP status: many nodes refuse with an error status. */
async function readResult(responding: Promise<Response>): Promise<RpcResult> {
  let status: number | null = null;
  let said: RpcResult | null;
  try {
    const response = await responding;
    status = response.status;
    said = await response.json();
  } catch (cause) {
    // Not its URL: that may contain an API key.
    throw new Unreachable("The chain's node cannot be reached. Try again.", status, null, {
      cause,
    });
  }
  if (said && ("result" in Object(said) || said.error)) return said;
  throw new Unreachable("The chain's node did not respond as JSON-RPC.", status);
}

/** The JSON-RPC code for invalid parameters, which wallets use for a call on another chain. */
const INVALID_PARAMS = -32602;

/**
 * Fill in nonce, gas and fees from the node, like a wallet would.
 *
 * Throws `ProviderError` if the call is for a chain other than the node's.
 */
async function prepareTransaction(provider: Provider, from: Address, call: Call) {
  const { to, data, value = 0n } = call;
  const ask = async (method: string, ...params: unknown[]) =>
    BigInt((await provider.request({ method, params })) as Hex);
  const chainId = Number(await ask("eth_chainId"));
  if (call.chainId !== undefined && call.chainId !== chainId)
    throw new ProviderError(
      `The transaction is for the chain with chainId ${call.chainId}, and the node is on ${chainId}.`,
      INVALID_PARAMS,
    );
  const [nonce, gas, gasPrice, tip] = await Promise.all([
    ask("eth_getTransactionCount", from, "pending"),
    ask("eth_estimateGas", { from, to, data, value: hexOfNumber(value) }),
    ask("eth_gasPrice"),
    ask("eth_maxPriorityFeePerGas"),
  ]);
  // The base fee can rise by an eighth with each block; twice the price lasts for six blocks.
  const fees = { maxFeePerGas: gasPrice * 2n + tip, maxPriorityFeePerGas: tip };
  // A fifth more gas than estimated: earlier transactions may change the cost.
  const common = { type: "eip1559", chainId, nonce: Number(nonce) };
  return { ...common, ...fees, gas: (gas * 6n) / 5n, to, data, value };
}

/** JSON for `eth_signTypedData_v4`: with the type of the domain, numbers as text. */
function textOfTypedData({ domain, types, primaryType, message }: TypedData): string {
  const EIP712Domain = [
    { name: "name", type: "string" },
    { name: "version", type: "string" },
    { name: "chainId", type: "uint256" },
  ];
  return JSON.stringify({ domain, types: { EIP712Domain, ...types }, primaryType, message });
}

export const hexOfNumber = (number: bigint): Hex => `0x${number.toString(16)}`;

function hexOfText(text: string): Hex {
  const bytes = Array.from(new TextEncoder().encode(text));
  return `0x${bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
