/**
 * Features that browsers offer over https only, and the messages where they are missing.
 *
 * localhost counts as https.
 */

import { WORDS } from "./words.ts";

/** Whether this page can hash, sign and copy: browsers require https for it. */
export const isEncrypted = (): boolean => globalThis.isSecureContext;

/** The message about what needs https: `Copying needs https, …`. */
export const encryptionSentence = (what: string): string => WORDS.needsSecureConnection(what);

/** The requested action needs https; the message says so. */
export class NotEncrypted extends Error {
  override readonly name = "NotEncrypted";

  constructor(what: string) {
    super(encryptionSentence(what));
  }
}
