/** Paying for posts: the offers of a service (x402), and purchases that are made once. */

import { getAddress } from "viem/utils";
import { balanceOf, buyPostCall, waitForReceipt } from "./marketplace.js";
import { InvalidOffer, Reverted, TooExpensive } from "./problems.js";
import type { Address, Hex, PostContent } from "./records.js";
import { endBy, pause, readFailure, readJson } from "./transport.js";
import type { Provider, Wallet } from "./wallet.js";

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

export interface ReadOptions {
  /** Proves the reader's address, and pays. */
  wallet?: Wallet;
  /** Buy the post if the wallet does not hold it. */
  pay?: boolean;
  /** The most that is paid, in wei, without the fees of the chain. */
  max?: bigint;
  /** A node of the chain; the facts of a development chain name one. */
  node?: Provider;
  /** Ends the read; by default after three minutes. */
  signal?: AbortSignal;
}

/** The entry for this scheme in the header `PAYMENT-REQUIRED`. Throws `InvalidOffer`. */
function findEntry(header: string | null): unknown {
  try {
    const text = new TextDecoder().decode(Uint8Array.from(atob(header ?? ""), byteOf));
    const { accepts } = JSON.parse(text) as { accepts: { scheme: string }[] };
    return accepts.find(({ scheme }) => scheme === SCHEME);
  } catch (cause) {
    throw new InvalidOffer("The offer of the service cannot be read.", { cause });
  }
}

/**
 * An entry of `accepts`, once it is certain that it sells this post, or any post if none is given,
 * at the seller's marketplace and chain, and that its message only reads that post.
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

/** The headers of a read with a proof, and with the purchase if there is one. */
function readHeaders(offer: Offer, signIn: SignInProof, transaction: Hex | null): HeadersInit {
  if (transaction === null) return { "SIGN-IN-WITH-X": encode(signIn) };
  const payload = { transaction, signIn };
  return { "PAYMENT-SIGNATURE": encode({ x402Version: 2, accepted: offer.accepted, payload }) };
}

/** Purchases that were sent, by wallet and post; null if the wallet holds the token already. */
export type Purchases = Map<string, Promise<Hex | null>>;

/** A wallet that buys posts, each of them once, and never spends more than a limit. */
export class Purse {
  constructor(
    private readonly seller: Seller,
    private readonly wallet: Wallet,
    private readonly node: Provider,
    private left: bigint,
    private readonly purchases: Purchases = new Map(),
  ) {}

  /**
   * The transaction that buys a post, which may still be pending, or null if the wallet holds
   * the token. A purchase that was sent before is returned, and not repeated.
   *
   * Throws `TooExpensive` before anything is sent.
   */
  async buy(offer: Offer): Promise<Hex | null> {
    const key = this.keyOf(offer);
    const known = this.purchases.get(key);
    if (known) return known;
    const { price } = offer;
    if (price > this.left) throw new TooExpensive(price, this.left);
    // Reserved before anything is awaited, so that purchases side by side share the limit.
    this.left -= price;
    const sending = this.send(offer);
    this.purchases.set(key, sending);
    const sent = await sending.catch((error) => {
      this.giveBack(offer, sending);
      throw error;
    });
    if (sent === null) this.giveBack(offer, sending);
    return sent;
  }

  /** Wait until a purchase is in a block. Throws `Reverted`, or the signal's reason. */
  async confirm(offer: Offer, transaction: Hex, signal: AbortSignal): Promise<void> {
    const sending = this.purchases.get(this.keyOf(offer));
    const receipt = await waitForReceipt(this.node, transaction, { everyMs: 500, signal });
    if (receipt.status === "success") return;
    if (sending) this.giveBack(offer, sending);
    throw new Reverted(`The contract refused the transaction ${transaction}.`);
  }

  private async send({ postId, price }: Offer): Promise<Hex | null> {
    const { marketplace, chainId } = this.seller;
    if ((await balanceOf(this.node, marketplace, this.wallet.address, postId)) > 0n) return null;
    return this.wallet.sendTransaction(buyPostCall(marketplace, postId, price, chainId));
  }

  /** Forget a purchase that cost nothing, unless another one replaced it meanwhile. */
  private giveBack(offer: Offer, sending: Promise<Hex | null>): void {
    const key = this.keyOf(offer);
    if (this.purchases.get(key) !== sending) return;
    this.purchases.delete(key);
    this.left += offer.price;
  }

  private keyOf({ postId }: Offer): string {
    return `${this.wallet.address.toLowerCase()} ${postId}`;
  }
}

/**
 * A post, as the holder of its token: bought first if the wallet holds none and there is a purse.
 *
 * `request` loads the post with further headers, and returns its response or the offer (402).
 */
export async function readPaid(
  request: (headers: HeadersInit) => Promise<Response>,
  seller: Seller,
  post: string,
  wallet: Wallet,
  purse: Purse | null,
  signal: AbortSignal,
): Promise<PostContent> {
  let proof: SignInProof | undefined;
  let transaction: Hex | null | undefined;
  let headers: HeadersInit = {};
  for (;;) {
    const response = await request(headers);
    if (response.status !== 402) return readJson(response, signal);
    const offer = checkOffer(findEntry(response.headers.get("PAYMENT-REQUIRED")), seller, post);
    if (proof === undefined) {
      proof = await signOffer(wallet, seller, offer);
    } else if (purse === null) {
      throw await readFailure(response);
    } else if (transaction === undefined) {
      transaction = await endBy(purse.buy(offer), signal);
      if (transaction !== null) await purse.confirm(offer, transaction, signal);
    } else {
      // The service's node is behind.
      const seconds = Number(response.headers.get("Retry-After")) || 1;
      await pause(Math.min(seconds, 10) * 1000, signal);
    }
    headers = readHeaders(offer, proof, transaction ?? null);
  }
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
