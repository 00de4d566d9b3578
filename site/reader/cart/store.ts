/** The cart of this browser, and the order that is being paid. */

import { keysFrom, recall, remember } from "../../page/storage.ts";

/** A post in the cart; its price is in wei, as a decimal text. */
export interface CartItem {
  readonly id: string;
  readonly title: string;
  readonly price: string;
}

export const CART_KEY = "imprint.cart";

/** The maximum number of posts in a cart: on some chains, one transaction fits no more. */
export const MAX_IN_CART = 20;

const ORDER_PREFIX = "imprint.order.";

/** The storage key of an account's order. */
export const orderKey = (account: string): string => `${ORDER_PREFIX}${account.toLowerCase()}`;

/** Whether a payment for an order was begun in this browser, by any account. */
export const isOrderBegun = (): boolean => keysFrom(ORDER_PREFIX).length > 0;

/** Store the order of an account, or forget it if it is null. */
export function keepOrder(account: string, order: unknown): void {
  remember(orderKey(account), order);
  dispatchEvent(new Event(CART_KEY));
}

/** The posts in the cart, in the order in which they were chosen. */
export function readCart(): readonly CartItem[] {
  const kept = recall<unknown>(CART_KEY);
  return Array.isArray(kept) ? kept.filter(isItem).slice(0, MAX_IN_CART) : [];
}

/** The cart with this post added, or removed if the cart has it. A full cart stays as it is. */
export function toggle(cart: readonly CartItem[], item: CartItem): readonly CartItem[] {
  const others = cart.filter(({ id }) => id !== item.id);
  if (others.length < cart.length || cart.length >= MAX_IN_CART) return others;
  return [...cart, item];
}

export function keepCart(cart: readonly CartItem[]): void {
  remember(CART_KEY, cart.length > 0 ? cart : null);
  dispatchEvent(new Event(CART_KEY));
}

/** Remove posts that were bought. */
export const dropFromCart = (posts: readonly string[]): void =>
  keepCart(readCart().filter(({ id }) => !posts.includes(id)));

/** Check a stored item, which may be of another version, or edited by hand. */
function isItem(value: unknown): value is CartItem {
  const { id, title, price } = (value ?? {}) as Record<string, unknown>;
  const isNumber = (text: unknown) => typeof text === "string" && /^\d{1,78}$/.test(text);
  return isNumber(id) && isNumber(price) && typeof title === "string";
}
