/** Why publishing or a price change stopped, and what to do. */

import type { Doubt } from "../../chain/sent-step.ts";

/** `new-version` saves the text again under another cid; `ask-again` asks the wallet again. */
export type FailureAction =
  | "retry"
  | "ask-again"
  | "new-version"
  | "switch-chain"
  | "sign-in"
  | "edit"
  | "open-text";

export interface Failure {
  readonly sentence: string;
  /** The most likely first. */
  readonly actions: readonly FailureAction[];
}

/** A step that stopped for a reason that the author is told. */
export class Stopped extends Error {
  override readonly name = "Stopped";

  constructor(readonly failure: Failure) {
    super(failure.sentence);
  }
}

/**
 * What is uncertain about a transaction. None of these counts as a failure: it may still arrive.
 */
export const DOUBTS: Readonly<Record<Doubt, Failure>> = {
  lost: {
    sentence:
      "Your wallet was asked to send the transaction, and its response was lost. The chain has not seen it. If your wallet still shows the request, confirm it there and look again; otherwise ask again.",
    actions: ["retry", "ask-again"],
  },
  unsettled: {
    sentence:
      "Your wallet was asked to send the transaction, and its response was lost. Transactions of your account still wait to be mined, and one of them may be it. Look again later; ask again only if your wallet does not show it.",
    actions: ["retry", "ask-again"],
  },
  replaced: {
    sentence:
      "The transaction was cancelled or replaced in your wallet. If your wallet does not show it any more, ask again.",
    actions: ["ask-again", "retry"],
  },
  unknown: {
    sentence:
      "The chain’s node does not know the transaction. If your wallet still shows it as pending, look again later; if it is gone there, send it again.",
    actions: ["retry", "ask-again"],
  },
  pending: {
    sentence:
      "The transaction is still waiting to be mined. Your wallet can speed it up; nothing has to be sent again.",
    actions: ["retry"],
  },
};
