/** The payment scheme of Imprint for x402 clients such as `@x402/fetch`. */

import type { Hex } from "../records.js";
import type { Provider, Wallet } from "../wallet.js";
import { checkOffer, SCHEME, type Seller, type SignInProof, signOffer } from "./offers.js";
import { LimitedBuyer } from "./purchases.js";

export interface SchemeOptions extends Seller {
  wallet: Wallet;
  /** A node of the chain, which confirms purchases. */
  node: Provider;
  /** The most that the scheme ever pays in total, in wei, without the fees of the chain. */
  max: bigint;
  /** How long a payment waits until its purchase is in a block, in milliseconds. */
  waitMs?: number;
}

/** The hash for a purchase that this scheme did not make: the wallet already holds the token. */
const NO_TRANSACTION: Hex = `0x${"0".repeat(64)}`;

/**
 * Buys posts of one service for an x402 client:
 *
 *     client.register(scheme.network, scheme);
 *
 * Each post is paid for once, even if the service asks again, and only at the given marketplace and
 * chain. The message that is signed proves the wallet's address for one read of that post.
 */
export class ImprintSubscribeScheme {
  readonly scheme = SCHEME;
  /** The chain as CAIP-2, as x402 clients name it. */
  readonly network: `eip155:${number}`;
  private readonly buyer: LimitedBuyer;

  constructor(private readonly options: SchemeOptions) {
    this.network = `eip155:${options.chainId}`;
    this.buyer = new LimitedBuyer(options, options.wallet, options.node, options.max);
  }

  /**
   * Buy the post of an offer, and sign the message with which the client reads it. A purchase
   * that is still pending after a while is returned, too: the service says that it is pending, and
   * the next request continues it.
   *
   * Throws `InvalidOffer`, `TooExpensive` and `Reverted`.
   */
  async createPaymentPayload(
    x402Version: number,
    requirements: unknown,
  ): Promise<{
    x402Version: number;
    payload: { transaction: Hex; signIn: SignInProof };
  }> {
    const { wallet, waitMs = 120_000 } = this.options;
    const offer = checkOffer(requirements, this.options);
    const transaction = await this.buyer.buy(offer);
    if (transaction !== null) {
      const signal = AbortSignal.timeout(waitMs);
      await this.buyer.confirm(offer, transaction, signal).catch((error) => {
        if (!signal.aborted) throw error;
      });
    }
    const signIn = await signOffer(wallet, this.options, offer);
    return { x402Version, payload: { transaction: transaction ?? NO_TRANSACTION, signIn } };
  }
}
