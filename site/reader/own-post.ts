/** What the author of a post sees on its page: price, sales, readers, and the way to the Studio. */

import { effect } from "@preact/signals-core";
import type { Post } from "imprint-press";
import { h } from "../page/dom.ts";
import { facts } from "../page/facts.ts";
import { coin } from "../page/format.ts";
import { actionsOf, studioAddress } from "../page/own-post.ts";
import { reader } from "../page/session.ts";
import { account, session } from "../wallet/index.ts";
import { WORDS } from "./words.ts";

/** Show the panel above the text while the post's author is connected. */
export function showOwnPost(post: HTMLElement): void {
  const { id = "", author } = post.dataset;
  const head = post.querySelector(".post-head");
  let panel: HTMLElement | null = null;
  let turn = 0;
  const draw = async (own: number) => {
    // The page is complete without the panel, so a failure is not shown.
    const found = await reader.showPost(id).catch(() => null);
    if (!found || own !== turn) return;
    panel = ownPanel(found);
    head?.after(panel);
  };
  effect(() => {
    const address = (account.value?.address ?? session.value?.address)?.toLowerCase();
    turn += 1;
    panel?.remove();
    panel = null;
    if (address === author?.toLowerCase()) void draw(turn);
  });
}

function ownPanel(post: Post): HTMLElement {
  const { canCorrect, canContinue } = actionsOf({ ...post, measure: null }, facts.features);
  const link = (view: Parameters<typeof studioAddress>[0], label: string) =>
    h("a", { class: "button", href: studioAddress(view, post.id) }, label);
  return h(
    "section",
    { class: "own-panel", "aria-label": WORDS.written },
    h(
      "p",
      { class: "own-facts" },
      h("strong", null, WORDS.written),
      h("span", null, post.free ? WORDS.free : coin(post.price)),
      h("span", null, WORDS.sales(post.sales.count)),
      h("span", null, WORDS.owners(post.holders)),
    ),
    h(
      "p",
      { class: "own-actions" },
      canCorrect && link("correct", WORDS.correct),
      link("post", WORDS.changePrice),
      canContinue && link("continue", WORDS.continueInNewDraft),
    ),
  );
}
