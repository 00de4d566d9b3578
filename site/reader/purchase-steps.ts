/** The steps of a purchase as a reader sees them, and what is said when it stays uncertain. */

import type { Purchase } from "../chain/purchase.ts";
import type { Doubt } from "../chain/sent-step.ts";
import { button, type Child, fill, h } from "../page/dom.ts";
import { coin } from "../page/format.ts";
import { session } from "../page/session.ts";
import { isDevelopmentAccount } from "../wallet/connection.ts";
import type { Account } from "../wallet/index.ts";
import type { Gate } from "./gate.ts";

/** How many steps are behind a purchase at each of its own: the wallet's two are one there. */
const REACHED: Readonly<Record<Purchase["step"], number>> = {
  transaction: 0,
  mined: 2,
  entitled: 3,
};

/** Show how far a purchase has come; null is one whose post is held. */
export function showSteps(
  gate: Gate,
  buyer: Account,
  purchase: Purchase | null,
  ...more: Child[]
): void {
  const reached = REACHED[purchase?.step ?? "entitled"];
  const isSilent = isDevelopmentAccount(buyer);
  const labels = [
    isSilent ? "Signed by the development chain" : `Confirm the purchase in ${buyer.name}`,
    "Sent to the chain",
    "In a block: the post is yours",
    session.value || isSilent
      ? "Opening the text"
      : `Sign in with ${buyer.name}: free, it only proves that the account is yours`,
  ];
  const state = (place: number) => (place < reached ? "done" : place === reached ? "now" : "next");
  const isPaid = purchase === null || purchase.step === "entitled";
  fill(
    gate.place,
    h("h2", null, isPaid ? "The post is yours" : `Buying for ${coin(purchase.price)}`),
    h(
      "ol",
      { class: "steps", "aria-live": "polite" },
      labels.map((label, place) =>
        h("li", { "data-state": state(place), "aria-current": place === reached && "step" }, label),
      ),
    ),
    ...more,
  );
}

const TWICE = "otherwise you may pay twice.";

/** What may have happened; none of it says that nothing was paid. */
const DOUBTS: Readonly<Record<Doubt, string>> = {
  lost: `Your wallet was asked to pay, and its response was lost. The chain has not seen the payment, but it may still come. If your wallet shows the request, confirm or decline it there and look again. Buy again only if your wallet shows neither a request nor a payment: ${TWICE}`,
  unsettled: `Your wallet was asked to pay, and its response was lost. Transactions of this account wait to be mined, and one of them may be the payment. Look again later. Buy again only if your wallet shows no payment: ${TWICE}`,
  replaced: `Your wallet sent another transaction in the place of the payment, as it does to speed one up or to cancel it. The post is not yours yet. Look at the activity in your wallet, and buy again only if the payment was cancelled there: ${TWICE}`,
  unknown: `The chain’s node does not know the payment that your wallet sent; it may still be mined. Look again later. Buy again only if your wallet shows that the payment failed or was cancelled: ${TWICE}`,
  pending:
    "The payment is sent and waits to be mined. Your wallet can speed it up; nothing has to be paid again.",
};

export interface DoubtActions {
  look: () => void;
  /** Pay although an earlier payment may still come. */
  buyAgain: () => void;
}

/** Say what is uncertain about a purchase, and let its reader decide. */
export function showDoubt(
  gate: Gate,
  { transaction }: Purchase,
  doubt: Doubt,
  { look, buyAgain }: DoubtActions,
): void {
  fill(
    gate.place,
    h("h2", null, doubt === "pending" ? "Not in a block yet" : "The payment is not certain"),
    h("p", { class: "gate-status", role: "alert" }, DOUBTS[doubt]),
    transaction && h("p", null, "Transaction ", h("code", null, transaction)),
    h(
      "p",
      { class: "gate-actions" },
      button("Look again", look, { class: "button primary" }),
      doubt !== "pending" && button("Buy again", buyAgain, { class: "button" }),
    ),
  );
}

/** Say that the chain refused the purchase, which is certain. */
export function showReverted(gate: Gate, again: () => void): void {
  const sentence =
    "The purchase failed on the chain. The price stays with you; only the network’s fee is spent.";
  fill(
    gate.place,
    h("h2", null, "Not bought"),
    h("p", { class: "gate-status", role: "alert", "data-kind": "bad" }, sentence),
    h("p", { class: "gate-actions" }, button("Try again", again, { class: "button primary" })),
  );
}
