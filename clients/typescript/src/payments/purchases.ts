/** Buys posts within a limit, each of them once, and reads what was bought. */

import { balanceOf, buyPostCall, waitForReceipt } from "../marketplace.js";
import { isStale, type Refusal, Reverted, TooExpensive } from "../problems.js";
import type { Hex, PostContent } from "../records.js";
import { endBy, pause, readFailure, readJson } from "../transport.js";
import type { Provider, Wallet } from "../wallet.js";
import {
  checkOffer,
  findEntry,
  hasExpired,
  type Offer,
  readHeaders,
  type Seller,
  type SignInProof,
  signOffer,
} from "./offers.js";

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

/** Purchases that were sent, by wallet and post; null if the wallet holds the token already. */
export type Purchases = Map<string, Promise<Hex | null>>;

/** A wallet that buys posts, each of them once, and never spends more than a limit. */
export class LimitedBuyer {
  private readonly reserved = new Map<Promise<Hex | null>, bigint>();

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
    // Reserved before anything is awaited, so that concurrent purchases share the limit.
    this.left -= price;
    const sending = this.send(offer);
    this.reserved.set(sending, price);
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
    if (this.purchases.get(key) === sending) this.purchases.delete(key);
    // Another buyer may have reserved the price, and a later offer may have another price.
    this.left += this.reserved.get(sending) ?? 0n;
    this.reserved.delete(sending);
  }

  private keyOf({ postId }: Offer): string {
    return `${this.wallet.address.toLowerCase()} ${postId}`;
  }
}

/**
 * Read a post as the holder of its token, which is bought first if the wallet holds none and there
 * is a buyer.
 *
 * `request` loads the post with further headers, and returns its response or the offer (402).
 */
export async function readPaid(
  request: (headers: HeadersInit) => Promise<Response>,
  seller: Seller,
  post: string,
  wallet: Wallet,
  buyer: LimitedBuyer | null,
  signal: AbortSignal,
): Promise<PostContent> {
  let proof: SignInProof | undefined;
  let stale: Refusal | undefined;
  let transaction: Hex | null | undefined;
  let headers: HeadersInit = {};
  for (;;) {
    const isBought = transaction !== undefined;
    const response = await request(headers).catch((error: unknown) => {
      if (!isStale(error) || !isBought || stale) throw error;
      stale = error;
      return null;
    });
    if (response === null) {
      // The purchase took longer than the proof lasts: get another offer to sign.
      headers = {};
      continue;
    }
    if (response.status !== 402) return readJson(response, signal);
    const offer = checkOffer(findEntry(response.headers.get("PAYMENT-REQUIRED")), seller, post);
    if (proof === undefined || (isBought && hasExpired(proof, offer))) {
      proof = await signOffer(wallet, seller, offer);
      stale = undefined;
    } else if (stale) {
      throw stale;
    } else if (buyer === null) {
      throw await readFailure(response);
    } else if (transaction === undefined) {
      transaction = await endBy(buyer.buy(offer), signal);
      if (transaction !== null) await buyer.confirm(offer, transaction, signal);
    } else {
      // The service's node is behind.
      const seconds = Number(response.headers.get("Retry-After")) || 1;
      await pause(Math.min(seconds, 10) * 1000, signal);
    }
    headers = readHeaders(offer, proof, transaction ?? null);
  }
}
