/** Why publishing or a price change stopped, and what to do. */

import type { Doubt } from "../../chain/sent-step.ts";
import { WORDS } from "../words.ts";

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
  /** The most likely action first. */
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
    sentence: WORDS.sendingLost,
    actions: ["retry", "ask-again"],
  },
  unsettled: {
    sentence: WORDS.sendingUnsettled,
    actions: ["retry", "ask-again"],
  },
  replaced: {
    sentence: WORDS.sendingReplaced,
    actions: ["ask-again", "retry"],
  },
  unknown: {
    sentence: WORDS.sendingUnknown,
    actions: ["retry", "ask-again"],
  },
  pending: {
    sentence: WORDS.sendingPending,
    actions: ["retry"],
  },
};
