/** Offers of posts (x402): checked before anything is signed or paid. */

import { getAddress } from "viem/utils";
import { buyPostCall } from "../marketplace.js";
import { InvalidOffer } from "../problems.js";
import type { Address, Hex } from "../records.js";
import type { Wallet } from "../wallet.js";

export const SCHEME = "imprint-subscribe";

/** A service, and the marketplace where its posts are bought. */
export interface Seller {
  /** The public URL of the service. */
  service: string;
  chainId: number;
  marketplace: Address;
}

/** The fields of the message that a wallet signs to read a post once (EIP-4361). */
export interface SignInInfo {
  domain: string;
  uri: string;
  nonce: string;
  issuedAt: string;
  expirationTime: string;
  statement: string;
}

/** The content of the header `SIGN-IN-WITH-X`. */
export interface SignInProof extends SignInInfo {
  address: Address;
  version: "1";
  chainId: string;
  type: "eip191";
  signature: Hex;
}

/** A checked offer of a post, with the entry of `accepts` as the service wrote it. */
export interface Offer {
  postId: string;
  price: bigint;
  signIn: SignInInfo;
  accepted: unknown;
}

/** The entry for this scheme in the header `PAYMENT-REQUIRED`. Throws `InvalidOffer`. */
export function findEntry(header: string | null): unknown {
  try {
    const text = new TextDecoder().decode(Uint8Array.from(atob(header ?? ""), byteOf));
    const { accepts } = JSON.parse(text) as { accepts: { scheme: string }[] };
    return accepts.find(({ scheme }) => scheme === SCHEME);
  } catch (cause) {
    throw new InvalidOffer("The offer of the service cannot be read.", { cause });
  }
}

/**
 * The offer in an entry of `accepts`, after checking that it sells this post (or any post if none
 * is given) at the seller's marketplace and chain, and that its message only permits reading it.
 *
 * Throws `InvalidOffer`.
 */
export function checkOffer(entry: unknown, seller: Seller, post?: string): Offer {
  const { scheme, network, amount, asset, payTo, extra } = members(entry);
  const { call, signIn, paymentFlow } = members(extra);
  const { to, data, value, args } = members(call);
  const postId = Array.isArray(args) ? args[0] : undefined;
  expect(scheme === SCHEME && asset === "native" && paymentFlow === "upfront", "scheme");
  expect(network === `eip155:${seller.chainId}`, "chain");
  expect(isNumber(postId) && (post === undefined || postId === post), "post");
  expect(isNumber(amount) && value === amount, "amount");
  const wanted = buyPostCall(seller.marketplace, postId, BigInt(amount));
  expect(isSame(payTo, wanted.to) && isSame(to, wanted.to), "marketplace");
  expect(isSame(data, wanted.data), "call");
  return {
    postId,
    price: BigInt(amount),
    signIn: checkSignIn(signIn, seller, postId),
    accepted: entry,
  };
}

function checkSignIn(given: unknown, seller: Seller, postId: string): SignInInfo {
  const { domain, uri, nonce, issuedAt, expirationTime, statement, version } = members(given);
  const resources = ["/content", ".md"].map(
    (end) => new URL(`${seller.service}/posts/${postId}${end}`),
  );
  expect(
    resources.some(({ host, href }) => domain === host && uri === href),
    "sign-in address",
  );
  expect(version === "1" && matches(nonce, /^[0-9a-zA-Z]{8,64}$/), "nonce");
  expect(matches(issuedAt, INSTANT) && matches(expirationTime, INSTANT), "time");
  expect(matches(statement, /^[ -~]{1,200}$/), "statement");
  return { domain, uri, nonce, issuedAt, expirationTime, statement } as SignInInfo;
}

/** Sign the message of an offer, which proves the wallet's address for one read. */
export async function signOffer(
  wallet: Wallet,
  seller: Seller,
  offer: Offer,
): Promise<SignInProof> {
  const { domain, uri, nonce, issuedAt, expirationTime, statement } = offer.signIn;
  const address = getAddress(wallet.address);
  const message = [
    `${domain} wants you to sign in with your Ethereum account:`,
    `${address}\n`,
    `${statement}\n`,
    `URI: ${uri}`,
    "Version: 1",
    `Chain ID: ${seller.chainId}`,
    `Nonce: ${nonce}`,
    `Issued At: ${issuedAt}`,
    `Expiration Time: ${expirationTime}`,
  ].join("\n");
  const signature = await wallet.signMessage(message);
  const chainId = `eip155:${seller.chainId}`;
  return { ...offer.signIn, address, version: "1", chainId, type: "eip191", signature };
}

/** Whether a proof had expired when an offer was made, by the clock of the service. */
export const hasExpired = (proof: SignInProof, offer: Offer): boolean =>
  // Both are times in UTC to the second, apart from fractions.
  offer.signIn.issuedAt.slice(0, 19) >= proof.expirationTime.slice(0, 19);

/** The headers of a read with a proof, and with the purchase if there is one. */
export function readHeaders(
  offer: Offer,
  signIn: SignInProof,
  transaction: Hex | null,
): HeadersInit {
  if (transaction === null) return { "SIGN-IN-WITH-X": encode(signIn) };
  const payload = { transaction, signIn };
  return { "PAYMENT-SIGNATURE": encode({ x402Version: 2, accepted: offer.accepted, payload }) };
}

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/;

const byteOf = (character: string): number => character.charCodeAt(0);

const encode = (value: object): string =>
  btoa(String.fromCharCode(...new TextEncoder().encode(JSON.stringify(value))));

const members = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};

const matches = (text: unknown, pattern: RegExp): text is string =>
  typeof text === "string" && pattern.test(text);

const isNumber = (text: unknown): text is string => matches(text, /^(0|[1-9]\d{0,77})$/);

const isSame = (text: unknown, wanted: string): boolean =>
  typeof text === "string" && text.toLowerCase() === wanted.toLowerCase();

function expect(holds: boolean, part: string): asserts holds {
  if (!holds) throw new InvalidOffer(`The offer of the service has an unexpected ${part}.`);
}
