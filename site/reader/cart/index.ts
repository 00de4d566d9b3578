/** The cart, and gifts: shown where the marketplace has a purchase adapter. */

import { button, fill, h } from "../../page/dom.ts";
import { coin } from "../../page/format.ts";
import { announce } from "../../page/notices.ts";
import { onOtherTab } from "../../page/storage.ts";
import { WORDS } from "../words.ts";
import type { Wish } from "./order/reducer.ts";
import {
  CART_KEY,
  type CartItem,
  isOrderBegun,
  keepCart,
  MAX_IN_CART,
  readCart,
  toggle,
} from "./store.ts";

type Open = (cart: readonly CartItem[], isGift: boolean, wish: Wish | null) => void;

/** Let readers add posts of this page to the cart, and give away the post that it shows. */
export function offerCart(post: HTMLElement | null, open: Open): void {
  const room = document.getElementById("give");
  if (post && room) {
    const give = () => open([itemOf(post, post.dataset.title ?? "")], true, null);
    room.replaceWith(button(WORDS.givePost, give, { class: "button" }));
  }
  const bar = h("aside", { class: "cart", "aria-label": WORDS.cart, hidden: true });
  document.body.append(bar);
  const show = () => {
    const cart = readCart();
    for (const card of document.querySelectorAll<HTMLElement>(".card")) showChoice(card, cart);
    showBar(bar, cart, open);
  };
  show();
  addEventListener(CART_KEY, show);
  onOtherTab([CART_KEY], show);
}

function showChoice(card: HTMLElement, cart: readonly CartItem[]): void {
  const title = card.querySelector(".card-title")?.textContent?.trim() ?? "";
  const item = itemOf(card, title);
  if (item.price === "0") return;
  const isIn = cart.some(({ id }) => id === item.id);
  const shown = card.querySelector<HTMLButtonElement>(".cart-choice");
  const choice = shown ?? button("", () => choose(item), { class: "cart-choice" });
  choice.textContent = isIn ? WORDS.inCart : WORDS.addToCart;
  choice.toggleAttribute("data-chosen", isIn);
  choice.setAttribute("aria-label", `${choice.textContent}: ${title}`);
  if (!shown) card.querySelector(".card-foot")?.append(choice);
}

function choose(item: CartItem): void {
  const before = readCart();
  const cart = toggle(before, item);
  const isFull = before.length === MAX_IN_CART && cart.length === MAX_IN_CART;
  keepCart(cart);
  announce(isFull ? WORDS.cartFull(MAX_IN_CART) : WORDS.inCartNow(cart.length));
}

function showBar(bar: HTMLElement, cart: readonly CartItem[], open: Open): void {
  const isBegun = isOrderBegun();
  bar.hidden = cart.length === 0 && !isBegun;
  const total = cart.reduce((sum, { price }) => sum + BigInt(price), 0n);
  fill(
    bar,
    h("p", null, isBegun ? WORDS.orderUnfinished : WORDS.cartHolds(cart.length, coin(total))),
    isBegun
      ? button(WORDS.continueOrder, () => open(cart, false, { kind: "continue" }), {
          class: "button primary",
        })
      : button(WORDS.buyAll, () => open(cart, false, null), { class: "button primary" }),
    cart.length > 0 && button(WORDS.emptyCart, () => keepCart([]), { class: "quiet" }),
  );
}

const itemOf = ({ dataset }: HTMLElement, title: string): CartItem => ({
  id: dataset.id ?? "",
  title,
  price: dataset.price ?? "0",
});
