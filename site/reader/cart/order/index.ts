/** The dialog in which several posts are bought at once, or a post is given away. */

import { h, keepingFocus } from "../../../page/dom.ts";
import { reconnect } from "../../../wallet/connection.ts";
import { runEffects } from "./effects.ts";
import { type Item, newOrder, type OrderEvent, reduce, type Wish } from "./reducer.ts";
import { drawOrder } from "./view.ts";

/** Shows the dialog of the order that this page is paying; null while it pays none. */
let showRunning: (() => void) | null = null;

/**
 * Open the dialog for these posts. With `wish`, an order that was begun before is continued at
 * once. An order that continued after its dialog was closed is shown instead.
 */
export async function openOrder(
  items: readonly Item[],
  isGift: boolean,
  wish: Wish | null = null,
): Promise<void> {
  await reconnect().catch(() => null);
  if (showRunning) return showRunning();
  let state = newOrder(items, isGift);
  const body = h("div", { class: "chooser-body" });
  const dialog = h("dialog", { class: "chooser order", "aria-labelledby": "order-title" }, body);
  const close = () => dialog.close();
  const ask = (asked: Wish) => dispatch({ type: "clicked", wish: asked });
  const run = runEffects({ state: () => state, tell: dispatch });
  function show(): void {
    if (dialog.open) return;
    document.body.append(dialog);
    dialog.showModal();
  }
  function dispatch(event: OrderEvent): void {
    const before = state;
    const [next, effects] = reduce(before, event);
    state = next;
    if (next.phase.kind !== "idle") showRunning = show;
    else if (showRunning === show) showRunning = null;
    if (next.shown !== before.shown) keepingFocus(body, () => drawOrder(body, next, ask, close));
    for (const each of effects) run(each, next.turn);
  }
  const opener = document.activeElement;
  dialog.addEventListener("close", () => {
    dialog.remove();
    // The bar with the cart is drawn again when an order is stored.
    if (!opener?.isConnected) document.querySelector<HTMLElement>(".cart button")?.focus();
  });
  drawOrder(body, state, ask, close);
  show();
  if (wish) ask(wish);
}
