/** The offer of a paid post: its texts on the page, and the one button. */

import { button, type Child, fill, h } from "../../page/dom.ts";
import { coin } from "../../page/format.ts";
import { WORDS } from "../words.ts";

export interface Offer {
  /** The element that contains the offer. */
  readonly place: HTMLElement;
  /**
   * The texts from the service: the price, the number of holders, whether the text is stored here.
   */
  readonly words: readonly Element[];
  /** In wei, as far as this page knows. */
  price: bigint;
}

/** Read the offer from a page. */
export function readOffer(post: HTMLElement, place: HTMLElement): Offer {
  const words = [...place.children].filter((each) => !each.matches("noscript, .gate-room"));
  return { place, words, price: BigInt(post.dataset.price ?? "0") };
}

/** Update the offer: the author has changed the price. */
export function changePrice(offer: Offer, price: bigint): void {
  offer.price = price;
  const [heading] = offer.words;
  if (heading) heading.textContent = WORDS.keepReading(coin(price));
}

interface Ways {
  buy: () => void;
  /** For existing holders; absent if a reader is signed in. */
  open?: () => void;
}

/** Show the offer, with notes between the texts and the buttons. */
export function showOffer(offer: Offer, { buy, open }: Ways, ...notes: Child[]): void {
  if (!notes.some(Boolean) && keepShown(offer, open !== undefined)) return;
  fill(
    offer.place,
    ...offer.words,
    ...notes,
    h(
      "p",
      { class: "gate-actions" },
      button(WORDS.buyRead, buy, { class: "button primary" }),
      open && button(WORDS.alreadyBought, open, { class: "button" }),
    ),
  );
}

/**
 * Keep the offer as it is, so that no button vanishes under a click. False if something else is
 * shown, or a button is missing.
 */
function keepShown({ place, words: [heading] }: Offer, canOpen: boolean): boolean {
  const [buy, open] = place.querySelectorAll("button");
  const isShown = heading && place.contains(heading) && !place.querySelector(".gate-status");
  if (!isShown || !buy || (canOpen && !open)) return false;
  if (!canOpen) open?.remove();
  return true;
}
