/** The gate in front of a paid post's text: holders read, others can buy. */

import { effect, untracked } from "@preact/signals-core";
import { session } from "../../page/session.ts";
import { reconnect } from "../../wallet/connection.ts";
import { account } from "../../wallet/index.ts";
import { walletAccount } from "../buyer.ts";
import { runEffects } from "./effects.ts";
import type { Offer } from "./offer.ts";
import { closedGate, type GateEvent, reduce, type Wish } from "./reducer.ts";
import { drawGate } from "./view.ts";

/**
 * Show the gate, and follow the account and the session.
 *
 * `wish` is the action of the click that loaded the gate. Returns a function for the actions of
 * later clicks: the page's own offer stays until the account has been checked.
 */
export async function openGate(
  post: HTMLElement,
  offer: Offer,
  wish: Wish | null,
): Promise<(wish: Wish) => void> {
  const { id = "", author = "" } = post.dataset;
  await reconnect().catch(() => null);
  let state = closedGate(id, author, offer.price);
  const ask = (asked: Wish) => dispatch({ type: "clicked", wish: asked });
  const run = runEffects({ offer, postId: id, state: () => state, tell: dispatch });
  function dispatch(event: GateEvent): void {
    const before = state;
    const [next, effects] = reduce(before, event);
    state = next;
    if (next.shown && next.shown !== before.shown) drawGate(offer, next.shown, ask);
    for (const each of effects) run(each, next.turn);
  }
  let isStarted = false;
  effect(() => {
    const present = {
      account: account.value && walletAccount(account.value),
      session: session.value?.address ?? null,
    };
    const event: GateEvent = isStarted
      ? { type: "changed", ...present }
      : { type: "started", wish, ...present };
    isStarted = true;
    untracked(() => dispatch(event));
  });
  return ask;
}
