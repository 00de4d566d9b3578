/** The offer of a paid post: what the page says of it, and the one button. */

import { button, type Child, fill, h } from "../../page/dom.ts";
import { coin } from "../../page/format.ts";

export interface Offer {
  /** Where it is shown. */
  readonly place: HTMLElement;
  /** What the service wrote there: the price, how many hold the post, whether its text is here. */
  readonly words: readonly Element[];
  /** In wei, as far as this page knows. */
  price: bigint;
}

/** The offer that a page carries. */
export function readOffer(post: HTMLElement, place: HTMLElement): Offer {
  const words = [...place.children].filter((each) => !each.matches("noscript, .gate-room"));
  return { place, words, price: BigInt(post.dataset.price ?? "0") };
}

/** The author gave the post another price than the page says. */
export function changePrice(offer: Offer, price: bigint): void {
  offer.price = price;
  const [heading] = offer.words;
  if (heading) heading.textContent = `Read on for ${coin(price)}`;
}

interface Ways {
  buy: () => void;
  /** For whoever holds the post already; absent if somebody is signed in. */
  open?: () => void;
}

/** Show the offer, with notes between the words and the buttons. */
export function showOffer(offer: Offer, { buy, open }: Ways, ...notes: Child[]): void {
  if (!notes.some(Boolean) && keepShown(offer, open !== undefined)) return;
  fill(
    offer.place,
    ...offer.words,
    ...notes,
    h(
      "p",
      { class: "gate-actions" },
      button("Buy and read", buy, { class: "button primary" }),
      open && button("I have bought it: sign in", open, { class: "button" }),
    ),
  );
}

/** Leave the offer as it stands, so that no button goes while somebody clicks it. False if something
 *  else stands there, or a button is missing. */
function keepShown({ place, words: [heading] }: Offer, canOpen: boolean): boolean {
  const [buy, open] = place.querySelectorAll("button");
  const isShown = heading && place.contains(heading) && !place.querySelector(".gate-status");
  if (!isShown || !buy || (canOpen && !open)) return false;
  if (!canOpen) open?.remove();
  return true;
}
