/** Why publishing or a change of price stopped, and the ways on. */

/** `new-version` saves the text again under another cid; `ask-again` asks the wallet anew. */
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
  /** The likeliest first. */
  readonly actions: readonly FailureAction[];
}

/** A step that stopped for a reason that the author is told. */
export class Stopped extends Error {
  override readonly name = "Stopped";

  constructor(readonly failure: Failure) {
    super(failure.sentence);
  }
}

/** The page was left while the wallet was asked, and the chain has nothing of it. */
export const LOST: Failure = {
  sentence:
    "Your wallet was asked to send the transaction, and its response was lost. The chain has not seen it. If your wallet still shows the request, confirm it there and look again; otherwise ask again.",
  actions: ["retry", "ask-again"],
};

/** How transactions end that are not mined. */
export const UNMINED: Readonly<Record<"replaced" | "unknown" | "pending", Failure>> = {
  replaced: {
    sentence: "The transaction was cancelled or replaced in your wallet. Send it again?",
    actions: ["retry"],
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
