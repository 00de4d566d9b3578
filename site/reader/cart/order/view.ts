/** Draws the dialog of an order. */

import { button, type Child, fill, h } from "../../../page/dom.ts";
import { coin, short } from "../../../page/format.ts";
import { DOUBTS } from "../../buyer.ts";
import { WORDS } from "../../words.ts";
import { type Item, isOwn, type Order, type OrderState, totalOf, type Wish } from "./reducer.ts";

/** Fill the dialog's body with what the order shows; buttons send a wish. */
export function drawOrder(
  place: HTMLElement,
  state: OrderState,
  ask: (wish: Wish) => void,
  close: () => void,
): void {
  const title = state.isGift ? WORDS.givePost : WORDS.yourCart;
  fill(
    place,
    h(
      "header",
      null,
      h("h2", { id: "order-title" }, title),
      button("×", close, { class: "close", "aria-label": WORDS.close }),
    ),
    contentOf(state, ask, close),
  );
}

function contentOf(state: OrderState, ask: (wish: Wish) => void, close: () => void): Child[] {
  const { shown } = state;
  const act = (label: string, wish: Wish, kind = "button primary") =>
    button(label, () => ask(wish), { class: kind });
  switch (shown.kind) {
    case "form":
      return [form(state, shown, ask)];
    case "steps":
      return [
        steps(shown.order, shown.buyer),
        shown.note !== null && h("p", { class: "gate-status", role: "status" }, shown.note),
      ];
    case "doubt":
      return [
        h("p", { role: "alert" }, DOUBTS[shown.doubt]),
        shown.order.transaction &&
          h("p", null, WORDS.transaction, h("code", null, shown.order.transaction)),
        actions(
          act(WORDS.checkAgain, { kind: "continue" }),
          shown.doubt !== "pending" &&
            act(WORDS.buyAgain, { kind: "again", doubted: shown.order }, "button"),
        ),
      ];
    case "failure":
      return [
        h("p", { role: "alert", "data-kind": "bad" }, shown.sentence),
        actions(act(WORDS.tryAgain, { kind: "continue" })),
      ];
    case "another-tab":
      return [
        h("p", { role: "status" }, WORDS.orderingAnotherTab),
        actions(act(WORDS.checkAgain, { kind: "continue" })),
      ];
    case "done": {
      const { receiver, posts } = shown.order;
      const sentence = isOwn(shown.order)
        ? WORDS.postsYours(posts.length)
        : WORDS.postsGiven(posts.length, short(receiver));
      return [
        h("p", { role: "status", "data-kind": "good" }, sentence),
        actions(
          isOwn(shown.order)
            ? h("a", { class: "button primary", href: "/library" }, WORDS.openLibrary)
            : button(WORDS.close, close, { class: "button" }),
        ),
      ];
    }
  }
}

function form(
  { items, isGift, receiver }: OrderState,
  { note, isBusy }: { note: string | null; isBusy: boolean },
  ask: (wish: Wish) => void,
): HTMLElement {
  const input = h("input", {
    id: "order-receiver",
    name: "receiver",
    value: receiver,
    placeholder: "0x…",
    autocomplete: "off",
    spellcheck: "false",
    maxlength: 64,
    required: isGift,
    "aria-describedby": "order-hint",
  });
  const total = coin(totalOf(items));
  const submit = (event: Event) => {
    event.preventDefault();
    ask({ kind: "order", receiver: input.value });
  };
  return h(
    "form",
    { class: "order-form", onsubmit: submit },
    h(
      "ul",
      { class: "order-items" },
      items.map((item) =>
        row(
          item,
          !isGift &&
            button(
              WORDS.remove,
              () => ask({ kind: "remove", id: item.id, receiver: input.value }),
              {
                class: "quiet",
                disabled: isBusy,
                "aria-label": WORDS.removePost(item.title),
              },
            ),
        ),
      ),
    ),
    items.length > 1 && h("p", { class: "order-total" }, WORDS.total(total)),
    h("label", { for: "order-receiver" }, isGift ? WORDS.giveTo : WORDS.giveToOptional),
    input,
    h("p", { class: "hint", id: "order-hint" }, isGift ? WORDS.giveHint : WORDS.giveHintOptional),
    note !== null && h("p", { role: "alert" }, note),
    actions(
      h(
        "button",
        { class: "button primary", type: "submit", disabled: isBusy || items.length === 0 },
        isGift ? WORDS.giveFor(total) : WORDS.buyFor(total),
      ),
    ),
  );
}

const row = ({ title, price }: Item, remove: Child): HTMLElement =>
  h("li", null, h("span", null, title), h("span", { class: "order-price" }, coin(price)), remove);

const actions = (...controls: Child[]): HTMLElement =>
  h("p", { class: "gate-actions" }, ...controls);

/** The progress of the payment. */
function steps(order: Order, buyer: { name: string; isSilent: boolean }): HTMLElement {
  const reached = order.step === "mined" ? 2 : 0;
  const labels = [
    buyer.isSilent ? WORDS.signedDevelopmentChain : WORDS.confirmPurchase(buyer.name),
    WORDS.sentChain,
    isOwn(order)
      ? WORDS.postsYours(order.posts.length)
      : WORDS.confirmedGiven(short(order.receiver)),
  ];
  const state = (step: number) => (step < reached ? "done" : step === reached ? "now" : "next");
  return h(
    "ol",
    { class: "steps", "aria-live": "polite" },
    labels.map((label, step) =>
      h("li", { "data-state": state(step), "aria-current": step === reached && "step" }, label),
    ),
  );
}
