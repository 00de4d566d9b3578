/** The clipboard, which pages may write over https and after a click. */

import { encryptionSentence, isEncrypted } from "./encryption.ts";
import { WORDS } from "./words.ts";

/** The page could not copy; the message says how to copy the text by hand. */
export class NotCopied extends Error {
  override readonly name = "NotCopied";
}

/** Copy a text. Throws `NotCopied`. */
export async function copyText(text: string): Promise<void> {
  if (!isEncrypted()) {
    const sentence = `${encryptionSentence(WORDS.copying)} ${WORDS.copyYourself}`;
    throw new NotCopied(sentence);
  }
  try {
    await navigator.clipboard.writeText(text);
  } catch (error) {
    const sentence = WORDS.browserDoesntLetPage;
    throw new NotCopied(sentence, { cause: error });
  }
}
