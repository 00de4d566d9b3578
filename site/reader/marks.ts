/** Marks the cards of posts that the reader holds or wrote. */

import { effect } from "@preact/signals-core";
import { reader } from "../page/session.ts";
import { account, session } from "../wallet/index.ts";

/** The number of library posts that are checked for marks. */
const MOST = 200;

/** Removes the marks of the previous cards. */
let stop: (() => void) | null = null;

/** Counts requests: stale responses mark nothing. */
let turn = 0;

/**
 * Mark the cards of this page, now and whenever another account signs in. Prompts nothing.
 *
 * Called again when the page has other cards.
 */
export function markCards(): void {
  stop?.();
  stop = effect(() => {
    const address = (session.value?.address ?? account.value?.address)?.toLowerCase();
    void mark(address, session.value !== null);
  });
}

async function mark(address: string | undefined, isSignedIn: boolean): Promise<void> {
  turn += 1;
  const own = turn;
  const held = new Set<string>();
  // Cards are fine without marks, so a failure is not shown.
  if (isSignedIn)
    for (const post of await reader
      .listLibrary({ limit: 50 })
      .collect(MOST)
      .catch(() => []))
      held.add(post.id);
  if (own !== turn) return;
  for (const card of document.querySelectorAll<HTMLElement>(".card")) {
    const price = card.querySelector<HTMLElement>(".card-price");
    if (!price) continue;
    price.dataset.price ??= price.textContent ?? "";
    const isOwn = card.dataset.author?.toLowerCase() === address;
    const text = isOwn
      ? "You wrote this"
      : held.has(card.dataset.id ?? "")
        ? "You hold this"
        : null;
    price.textContent = text ?? price.dataset.price;
    price.classList.toggle("held", text !== null);
  }
}
