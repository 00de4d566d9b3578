/** What browsers offer over https only, and what the site says where it is missing.
 *
 *  The machine itself (localhost) counts as https.
 */

/** Whether this page can hash, sign and copy: without https, browsers do not let it. */
export const isEncrypted = (): boolean => globalThis.isSecureContext;

/** Say what needs https: `Copying needs https, …`. */
export const encryptionSentence = (what: string): string =>
  `${what} needs https, and this page came without it. Open the site by an address that begins with https://.`;

/** A click asked for something that needs https; the message says so. */
export class NotEncrypted extends Error {
  override readonly name = "NotEncrypted";

  constructor(what: string) {
    super(encryptionSentence(what));
  }
}
