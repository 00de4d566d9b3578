/** What a change of a post's price uses: the wallet, the service, and this browser's storage. */

import { changePriceCall } from "imprint-press";
import { readPrice } from "../../chain/marketplace.ts";
import { isLocked, lockIsFree, takeLock } from "../../page/locks.ts";
import { imprint } from "../../page/service.ts";
import { recall, remember } from "../../page/storage.ts";
import type { Account } from "../../wallet/index.ts";
import { hearKept } from "../publication/kept-publication.ts";
import { presentAccount, walletPorts } from "../transactions/wallet-ports.ts";
import type { PriceChange, PricePorts } from "./price-change.ts";

const { id: chainId, marketplace } = imprint.facts.chain;

const priceKey = (address: string, postId: string): string =>
  `imprint.price.${address.toLowerCase()}.${postId}`;

/** The running change of a post's price; null if there is none. */
export function recallPriceChange(address: string, postId: string): PriceChange | null {
  const kept = recall<PriceChange>(priceKey(address, postId));
  // A finished one stays stored, so that other tabs see its end.
  return kept?.step === "done" ? null : kept;
}

/** Store a price change; null abandons one that was not sent. */
export const keepPriceChange = (
  address: string,
  postId: string,
  change: PriceChange | null,
): void => remember(priceKey(address, postId), change);

/**
 * Observe the change that another tab stores; null if it was abandoned. Returns a function that
 * stops observing.
 */
export const hearPriceChange = (
  address: string,
  postId: string,
  hear: (change: PriceChange | null) => void,
): (() => void) => hearKept(priceKey(address, postId), hear);

export function pricePorts(address: Account["address"], postId: string): PricePorts {
  const name = `imprint-price ${address.toLowerCase()} ${postId}`;
  return {
    ...walletPorts(address),
    call: ({ price }) => changePriceCall(marketplace, postId, BigInt(price), chainId),
    readPrice: () => readPrice(presentAccount(address).provider, postId),
    readListedPrice: async () => (await imprint.showPost(postId)).price,
    keep: (change) => keepPriceChange(address, postId, change),
    recall: () => recall<PriceChange>(priceKey(address, postId)),
    lock: () => takeLock(name),
    isLocked: () => isLocked(name),
    isFree: () => lockIsFree(name),
  };
}
