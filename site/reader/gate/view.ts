/** Draws the views of the gate. */

import type { Purchase } from "../../chain/purchase.ts";
import type { Doubt } from "../../chain/sent-step.ts";
import { button, type Child, fill, h } from "../../page/dom.ts";
import { coin } from "../../page/format.ts";
import { changePrice, type Offer, showOffer } from "./offer.ts";
import type { Shown, Wish } from "./reducer.ts";

/** Draw this instead of the offer; buttons send a wish. */
export function drawGate(offer: Offer, shown: Shown, ask: (wish: Wish) => void): void {
  if (shown.kind !== "offer") {
    fill(offer.place, ...contentOf(shown, ask));
    return;
  }
  if (shown.price !== offer.price) changePrice(offer, shown.price);
  const open = shown.canOpen && { open: () => ask({ kind: "open" }) };
  showOffer(offer, { buy: () => ask({ kind: "buy" }), ...open }, alert(shown.note));
}

function contentOf(shown: Exclude<Shown, { kind: "offer" }>, ask: (wish: Wish) => void): Child[] {
  const act = (label: string, wish: Wish, kind = "button primary"): HTMLElement =>
    button(label, () => ask(wish), { class: kind });
  switch (shown.kind) {
    case "held":
      return [
        h("h2", null, shown.isAuthor ? "You wrote this" : "You hold this"),
        h(
          "p",
          null,
          "Sign in to read it. The signature is free: it only proves that the account is yours.",
        ),
        alert(shown.note),
        actions(act("Sign in and read", { kind: "open" })),
      ];
    case "failure": {
      const { sentence, action, isCancelled } = shown.failure;
      const label = action === "sign-in" ? "Sign in" : action === "reload" ? "Reload" : "Try again";
      return [
        h("h2", null, "Not open yet"),
        alert(sentence, isCancelled ? "info" : "bad"),
        actions(act(label, shown.again)),
      ];
    }
    case "another-tab":
      return [
        h("h2", null, "Another tab is buying this post"),
        h(
          "p",
          { role: "status" },
          "Confirm or decline it there; this page goes on when that is done.",
        ),
      ];
    case "steps": {
      const { note, needsClick, buyer } = shown;
      return [
        ...steps(shown),
        note && h("p", { class: "gate-status", role: note.role }, note.sentence),
        needsClick && actions(act("Sign in and read", { kind: "read", buyer })),
      ];
    }
    case "doubt": {
      const { buyer, purchase, doubt } = shown;
      const buyAgain: Wish = { kind: "buy", doubted: purchase };
      return [
        h("h2", null, doubt === "pending" ? "Not in a block yet" : "The payment is not certain"),
        alert(DOUBTS[doubt]),
        purchase.transaction && h("p", null, "Transaction ", h("code", null, purchase.transaction)),
        actions(
          act("Look again", { kind: "continue", buyer }),
          doubt !== "pending" && act("Buy again", buyAgain, "button"),
        ),
      ];
    }
    case "reverted":
      return [
        h("h2", null, "Not bought"),
        alert(
          "The purchase failed on the chain. The price stays with you; only the network’s fee is spent.",
          "bad",
        ),
        actions(act("Try again", { kind: "continue", buyer: shown.buyer })),
      ];
    case "open": {
      const sentence = shown.isAuthor ? "You wrote this" : "You hold this";
      return [h("p", { class: "gate-held", role: "status" }, sentence)];
    }
  }
}

const alert = (sentence: string | null, kind: string | null = null): Child =>
  sentence !== null && h("p", { class: "gate-status", role: "alert", "data-kind": kind }, sentence);

const actions = (...controls: Child[]): HTMLElement =>
  h("p", { class: "gate-actions" }, ...controls);

/** The number of finished steps at each step of a purchase: the wallet's two count as one. */
const REACHED: Readonly<Record<Purchase["step"], number>> = {
  transaction: 0,
  mined: 2,
  entitled: 3,
};

/** The progress of a purchase. */
function steps({ buyer, purchase, isSignedIn }: Shown & { kind: "steps" }): Child[] {
  const reached = REACHED[purchase?.step ?? "entitled"];
  const labels = [
    buyer.isSilent ? "Signed by the development chain" : `Confirm the purchase in ${buyer.name}`,
    "Sent to the chain",
    "In a block: the post is yours",
    isSignedIn || buyer.isSilent
      ? "Opening the text"
      : `Sign in with ${buyer.name}: free, it only proves that the account is yours`,
  ];
  const state = (step: number) => (step < reached ? "done" : step === reached ? "now" : "next");
  const isPaid = purchase === null || purchase.step === "entitled";
  return [
    h("h2", null, isPaid ? "The post is yours" : `Buying for ${coin(purchase.price)}`),
    h(
      "ol",
      { class: "steps", "aria-live": "polite" },
      labels.map((label, step) =>
        h("li", { "data-state": state(step), "aria-current": step === reached && "step" }, label),
      ),
    ),
  ];
}

const TWICE = "otherwise you may pay twice.";

/** What may have happened; none of these claims that nothing was paid. */
const DOUBTS: Readonly<Record<Doubt, string>> = {
  lost: `Your wallet was asked to pay, and its response was lost. The chain has not seen the payment, but it may still come. If your wallet shows the request, confirm or decline it there and look again. Buy again only if your wallet shows neither a request nor a payment: ${TWICE}`,
  unsettled: `Your wallet was asked to pay, and its response was lost. Transactions of this account wait to be mined, and one of them may be the payment. Look again later. Buy again only if your wallet shows no payment: ${TWICE}`,
  replaced: `Your wallet sent another transaction in the place of the payment, as it does to speed one up or to cancel it. The post is not yours yet. Look at the activity in your wallet, and buy again only if the payment was cancelled there: ${TWICE}`,
  unknown: `The chain’s node does not know the payment that your wallet sent; it may still be mined. Look again later. Buy again only if your wallet shows that the payment failed or was cancelled: ${TWICE}`,
  pending:
    "The payment is sent and waits to be mined. Your wallet can speed it up; nothing has to be paid again.",
};
