/** The dialog in which several posts are bought at once, or a post is given away. */

import { h, keepingFocus } from "../../page/dom.ts";
import { reconnect } from "../../wallet/connection.ts";
import { runEffects } from "./effects.ts";
import { type Item, newOrder, type OrderEvent, reduce, type Wish } from "./reducer.ts";
import { drawOrder } from "./view.ts";

/**
 * Open the dialog for these posts. With `wish`, an order that was begun before is continued at
 * once.
 */
export async function openOrder(
  items: readonly Item[],
  isGift: boolean,
  wish: Wish | null = null,
): Promise<void> {
  await reconnect().catch(() => null);
  let state = newOrder(items, isGift);
  const body = h("div", { class: "chooser-body" });
  const dialog = h("dialog", { class: "chooser order", "aria-labelledby": "order-title" }, body);
  const close = () => dialog.close();
  const ask = (asked: Wish) => dispatch({ type: "clicked", wish: asked });
  const run = runEffects({ state: () => state, tell: dispatch });
  function dispatch(event: OrderEvent): void {
    const before = state;
    const [next, effects] = reduce(before, event);
    state = next;
    if (next.shown !== before.shown) keepingFocus(body, () => drawOrder(body, next, ask, close));
    for (const each of effects) run(each, next.turn);
  }
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  drawOrder(body, state, ask, close);
  dialog.showModal();
  if (wish) ask(wish);
}
