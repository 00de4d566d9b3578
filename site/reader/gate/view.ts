/** Draws the views of the gate. */

import type { Purchase } from "../../chain/purchase.ts";
import { button, type Child, fill, h } from "../../page/dom.ts";
import { coin } from "../../page/format.ts";
import { DOUBTS } from "../buyer.ts";
import { WORDS } from "../words.ts";
import { changePrice, type Offer, showOffer } from "./offer.ts";
import type { Shown, Wish } from "./reducer.ts";

/** Draw a view instead of the offer; its buttons send a wish. */
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
        h("h2", null, shown.isAuthor ? WORDS.youWroteThis : WORDS.youOwnThis),
        h("p", null, WORDS.signReadSigningFree),
        alert(shown.note),
        actions(act(WORDS.signRead, { kind: "open" })),
      ];
    case "failure": {
      const { sentence, action, isCancelled } = shown.failure;
      const label =
        action === "sign-in" ? WORDS.signIn : action === "reload" ? WORDS.reload : WORDS.tryAgain;
      return [
        h("h2", null, WORDS.purchaseNotCompleted),
        alert(sentence, isCancelled ? "info" : "bad"),
        actions(act(label, shown.again)),
      ];
    }
    case "another-tab":
      return [
        h("h2", null, WORDS.youreBuyingPostAnother),
        h("p", { role: "status" }, WORDS.confirmOrDeclineThere),
      ];
    case "steps": {
      const { note, needsClick, buyer } = shown;
      return [
        ...steps(shown),
        note && h("p", { class: "gate-status", role: note.role }, note.sentence),
        needsClick && actions(act(WORDS.signRead, { kind: "read", buyer })),
      ];
    }
    case "doubt": {
      const { buyer, purchase, doubt } = shown;
      const buyAgain: Wish = { kind: "buy", doubted: purchase };
      return [
        h("h2", null, doubt === "pending" ? WORDS.waitingNetwork : WORDS.wereNotSurePayment),
        alert(DOUBTS[doubt]),
        purchase.transaction &&
          h("p", null, WORDS.transaction, h("code", null, purchase.transaction)),
        actions(
          act(WORDS.checkAgain, { kind: "continue", buyer }),
          doubt !== "pending" && act(WORDS.buyAgain, buyAgain, "button"),
        ),
      ];
    }
    case "reverted":
      return [
        h("h2", null, WORDS.purchaseFailed),
        alert(WORDS.purchaseFailedChainKeep, "bad"),
        actions(act(WORDS.tryAgain, { kind: "continue", buyer: shown.buyer })),
      ];
    case "open": {
      const sentence = shown.isAuthor ? WORDS.youWroteThis : WORDS.youOwnThis;
      return [h("p", { class: "gate-held", role: "status" }, sentence)];
    }
  }
}

const alert = (sentence: string | null, kind: string | null = null): Child =>
  sentence !== null && h("p", { class: "gate-status", role: "alert", "data-kind": kind }, sentence);

const actions = (...controls: Child[]): HTMLElement =>
  h("p", { class: "gate-actions" }, ...controls);

/** How many of the shown steps are finished at each step of a purchase: sending finishes two. */
const REACHED: Readonly<Record<Purchase["step"], number>> = {
  transaction: 0,
  mined: 2,
  entitled: 3,
};

/** The progress of a purchase. */
function steps({ buyer, purchase, isSignedIn }: Shown & { kind: "steps" }): Child[] {
  const reached = REACHED[purchase?.step ?? "entitled"];
  const labels = [
    buyer.isSilent ? WORDS.signedDevelopmentChain : WORDS.confirmPurchase(buyer.name),
    WORDS.sentChain,
    WORDS.confirmedPostYours,
    isSignedIn || buyer.isSilent ? WORDS.openingPost : WORDS.signFreeOnlyProves(buyer.name),
  ];
  const state = (step: number) => (step < reached ? "done" : step === reached ? "now" : "next");
  const isPaid = purchase === null || purchase.step === "entitled";
  return [
    h("h2", null, isPaid ? WORDS.postYours : WORDS.buyingFor(coin(purchase.price))),
    h(
      "ol",
      { class: "steps", "aria-live": "polite" },
      labels.map((label, step) =>
        h("li", { "data-state": state(step), "aria-current": step === reached && "step" }, label),
      ),
    ),
  ];
}
