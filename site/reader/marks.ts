/** Marks the cards of posts that the reader holds or wrote. */

import { effect } from "@preact/signals-core";
import { h } from "../page/dom.ts";
import { reader } from "../page/session.ts";
import { account, session } from "../wallet/index.ts";
import { WORDS } from "./words.ts";

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
    card.querySelector(".mark")?.remove();
    const isOwn = card.dataset.author?.toLowerCase() === address;
    const text = isOwn ? WORDS.written : held.has(card.dataset.id ?? "") ? WORDS.owned : null;
    // Beside the price, never in its place.
    if (text) card.querySelector(".card-foot")?.append(h("span", { class: "pill mark" }, text));
  }
}
