/** The client of a service: everything for readers and for authors. */

import type { Purchases, ReadOptions } from "./payments/purchases.js";
import type { PostContent } from "./records.js";
import { httpProvider, type Provider, type Wallet } from "./wallet.js";
import { ImprintWriter } from "./writer.js";
import {
  openWritingSession,
  type WritingSession,
  type WritingSessionOptions,
} from "./writing-session.js";

/** The time limit of a read with a wallet, in milliseconds; an offer lasts 300 seconds. */
const READ_MS = 180_000;

export class Imprint extends ImprintWriter {
  /** Shared with the clients that `as` and `within` create. */
  private readonly purchases: Purchases = new Map();

  /**
   * Ask the wallet for one signature that lets a new key in this browser save drafts on the
   * wallet's behalf.
   */
  openWritingSession(wallet: Wallet, options: WritingSessionOptions = {}): Promise<WritingSession> {
    return openWritingSession(this, wallet, options);
  }

  /**
   * A post. With `wallet`, one signature proves the address of the reader, and no session is
   * used or stored; a second signature is needed if the first expires during the purchase. With
   * `pay`, a token is bought first if the wallet holds none. A purchase that is still pending when
   * a read ends is continued by the next read, and never repeated.
   *
   * Throws `TooExpensive`, `InvalidOffer` and `Reverted`, and the signal's reason.
   */
  async read(id: string | bigint, options: ReadOptions = {}): Promise<PostContent> {
    const { wallet, pay = false, max, signal = AbortSignal.timeout(READ_MS) } = options;
    const post = BigInt(id).toString();
    if (!wallet) return this.readPostContent(post);
    if (pay && max === undefined) throw new TypeError("Say with `max` how many wei may be paid.");
    const { id: chainId, marketplace } = this.facts.chain;
    const seller = { service: this.url, chainId, marketplace };
    const reading = this.as(null).within(signal);
    const request = (headers: HeadersInit) =>
      reading.request(`/posts/${post}/content`, { except: 402 }, headers);
    // Pages that never pay need not load this.
    const { LimitedBuyer, readPaid } = await import("./payments/purchases.js");
    const buyer =
      pay && max !== undefined
        ? new LimitedBuyer(seller, wallet, options.node ?? this.nodeOfFacts(), max, this.purchases)
        : null;
    return readPaid(request, seller, post, wallet, buyer, signal);
  }

  private nodeOfFacts(): Provider {
    const { rpc_url } = this.facts.chain;
    if (!rpc_url)
      throw new TypeError("This service names no node of its chain. Give one as `node`.");
    return httpProvider(rpc_url);
  }
}
