/** The state of a save, and what its failures mean. */

import { Refusal, Unconfirmed, Unreachable, WalletNeeded } from "imprint-press";
import { fileSize } from "../../page/format.ts";
import { WORDS } from "../words.ts";

/** Another version of the draft on the service. */
export interface Theirs {
  readonly cid: string;
  readonly content: string;
  /** When the version was saved (ISO 8601). */
  readonly savedAt: string;
}

export type SaveState =
  /** The service has exactly this text. */
  | { readonly kind: "saved" }
  /** This browser has the text, but the service does not. */
  | { readonly kind: "changed" }
  | { readonly kind: "signing" }
  | { readonly kind: "sending" }
  /** The save is sent again automatically, as soon as the service can be reached. */
  | { readonly kind: "waiting"; readonly sentence: string }
  | { readonly kind: "refused"; readonly sentence: string; readonly action: RefusedAction }
  | { readonly kind: "conflict"; readonly theirs: Theirs }
  /** The service no longer has the draft. */
  | { readonly kind: "gone"; readonly postId: string | null };

/** What helps: saving again, signing in, letting the key write again, or changing the text. */
type RefusedAction = "save" | "sign-in" | "session" | "edit";

/** What to do after a failed save. */
type Verdict =
  /** The same signed write may be sent again. */
  | { readonly kind: "again"; readonly sentence: string }
  /** The clock of this computer was wrong, or the wallet took too long: sign again. */
  | { readonly kind: "stale" }
  /** The save may have taken effect, and cannot be sent again: check the service's version. */
  | { readonly kind: "unconfirmed" }
  /** The draft was changed, published or deleted elsewhere: check the service's version. */
  | { readonly kind: "look" }
  /** The key of the writing session no longer signs. */
  | { readonly kind: "session-ended"; readonly sentence: string }
  | { readonly kind: "refused"; readonly sentence: string; readonly action: RefusedAction };

export interface SaveContext {
  /** The service's limit in bytes. */
  readonly contentLimit: number;
  /** A sentence for failures that are not the service's: refusals of the wallet. */
  readonly explain: (error: unknown) => string;
}

const KEPT = WORDS.textSafeBrowser;

/** Decide what a failed save means. */
export function judge(error: unknown, context: SaveContext): Verdict {
  if (error instanceof WalletNeeded) return sessionEnded();
  if (error instanceof Unconfirmed) return { kind: "unconfirmed" };
  if (error instanceof Unreachable) {
    const sentence = WORDS.serviceCantReachedWill(KEPT);
    return { kind: "again", sentence };
  }
  if (error instanceof Refusal) return judgeRefusal(error, context);
  return { kind: "refused", sentence: `${context.explain(error)} ${KEPT}`, action: "save" };
}

function judgeRefusal(refusal: Refusal, { contentLimit, explain }: SaveContext): Verdict {
  switch (refusal.code) {
    case "signature_stale":
      return { kind: "stale" };
    case "nonce_used":
    case "not_pending":
    case "not_found":
      return { kind: "look" };
    case "writing_session_scope":
      return sessionEnded();
    case "quota_exceeded": {
      const sentence = WORDS.draftsHaveUsedAll;
      return { kind: "refused", sentence: `${sentence} ${KEPT}`, action: "save" };
    }
    case "too_large": {
      const sentence = WORDS.textTooLargeLimit(fileSize(contentLimit));
      return { kind: "refused", sentence: `${sentence} ${KEPT}`, action: "edit" };
    }
    default:
  }
  if (refusal.status === 429 || refusal.status === 503) {
    const sentence = WORDS.serviceBusyWillSaved(KEPT);
    return { kind: "again", sentence };
  }
  return { kind: "refused", sentence: `${explain(refusal)} ${KEPT}`, action: "save" };
}

function sessionEnded(): Verdict {
  const sentence = WORDS.automaticSavingEndedSave(KEPT);
  return { kind: "session-ended", sentence };
}
