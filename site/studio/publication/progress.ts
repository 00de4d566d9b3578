/**
 * The progress of a publication: a pure state machine that survives a reload.
 *
 * Its one rule: while a transaction may be on its way, nothing goes back to a step that could send
 * a second one for the same text.
 */

import type { Address } from "imprint-press";
import { advanceSending, type Sending, type SendingEvent } from "../../chain/sent-step.ts";

/** The steps that the author sees, in order. */
export const STEPS = ["text", "upload", "transaction", "mined", "listed"] as const;

export type Step = (typeof STEPS)[number];

/** What goes to the chain besides the text and its picture. */
export interface PostDetails {
  readonly title: string;
  readonly description: string;
  /** In wei, as a decimal text. */
  readonly price: string;
  readonly hashtags: readonly string[];
}

export interface Progress extends Sending {
  readonly account: Address;
  readonly draftKey: string;
  readonly details: PostDetails;
  readonly step: Step | "done";
  /** The version that is published; known once the newest text is saved. */
  readonly cid: string | null;
  readonly thumbnailCid: string | null;
  readonly postId: string | null;
}

export type ProgressEvent =
  | SendingEvent
  | { readonly type: "saved"; readonly cid: string }
  /** The first save gave the draft another key. */
  | { readonly type: "renamed"; readonly draftKey: string }
  | { readonly type: "uploaded"; readonly thumbnailCid: string }
  /** The version is no longer a draft of this author: it was replaced or deleted elsewhere. */
  | { readonly type: "replaced" }
  /** The marketplace has the author's post with this cid. */
  | { readonly type: "found"; readonly postId: string }
  /** Somebody else published this cid: the text needs a new version. */
  | { readonly type: "taken" }
  | { readonly type: "listed" };

/** The next task of a publication. */
type Task = "save" | "upload" | "send" | "search" | "follow" | "wait" | null;

export function beginProgress(account: Address, draftKey: string, details: PostDetails): Progress {
  return {
    account,
    draftKey,
    details,
    step: "text",
    cid: null,
    thumbnailCid: null,
    asked: null,
    transaction: null,
    postId: null,
  };
}

/**
 * The progress after an event. Throws `TypeError` for an event that cannot happen in this state.
 */
export function advance(progress: Progress, event: ProgressEvent): Progress {
  const { step } = progress;
  switch (event.type) {
    case "saved":
      if (step === "text") return { ...progress, step: "upload", cid: event.cid };
      break;
    case "renamed":
      if (step === "text") return { ...progress, draftKey: event.draftKey };
      break;
    case "uploaded":
      if (step === "upload") {
        return { ...progress, step: "transaction", thumbnailCid: event.thumbnailCid };
      }
      break;
    case "replaced":
    case "taken":
      if (!mayBeSent(progress) && step !== "done") return anew(progress);
      break;
    case "asked":
    case "declined":
    case "sent":
    case "ended":
      return { ...progress, ...advanceSending(progress, event) };
    case "found":
      if (step !== "done") return { ...progress, step: "listed", postId: event.postId };
      break;
    case "listed":
      if (step === "listed") return { ...progress, step: "done" };
      break;
  }
  throw new TypeError(`A publication at “${step}” cannot be “${event.type}”.`);
}

/** Whether a transaction for this text may be on its way. */
const mayBeSent = (progress: Progress): boolean =>
  progress.asked !== null || progress.transaction !== null;

/** Whether the author may still edit the post. */
export const canBeChanged = (progress: Progress): boolean =>
  !mayBeSent(progress) && progress.step !== "listed" && progress.step !== "done";

export function nextTask(progress: Progress): Task {
  switch (progress.step) {
    case "text":
      return "save";
    case "upload":
      return "upload";
    case "transaction":
      return progress.asked ? "search" : "send";
    case "mined":
      return "follow";
    case "listed":
      return "wait";
    case "done":
      return null;
  }
}

/** Whether a task asks the wallet for something: after a reload, the author starts it. */
export const needsAuthor = (task: Task): boolean =>
  task === "save" || task === "upload" || task === "send";

/** The same publication, restarted for a later version of the text. */
function anew(progress: Progress): Progress {
  return beginProgress(progress.account, progress.draftKey, progress.details);
}
