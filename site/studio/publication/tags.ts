/** Hashtags, normalized like the service does, so that authors see what readers will. */

import { WORDS } from "../words.ts";

/** `hashtags` and `hashtag_length` of the service's limits. */
export interface TagLimits {
  readonly count: number;
  readonly length: number;
}

/** Invisible combining marks: with them, two hashtags that look the same would differ. */
const INVISIBLE =
  /\u034f|\u17b4|\u17b5|[\u180b-\u180d]|\u180f|[\ufe00-\ufe0f]|[\u{e0100}-\u{e01ef}]/u;

/** Letters with their combining marks, digits, `_` and `-`. */
const WORD = /^(?:\p{L}\p{M}*|[\p{N}_-])+$/u;

/** The maximum length before normalization, as a multiple of the maximum length after it. */
const SPELLING = 8;

/** A hashtag in its canonical spelling. Throws `RangeError` with a sentence for its author. */
export function normalizeTag(text: string, limits: TagLimits): string {
  const spelled = text.trim().replace(/^#/, "");
  const tooLong = new RangeError(WORDS.hashtagMostCharacters(limits.length));
  if (spelled === "") throw new RangeError(WORDS.typeWordAfter);
  if ([...spelled].length > SPELLING * limits.length) throw tooLong;
  const tag = spelled.normalize("NFKC").toLowerCase().normalize("NFKC");
  if ([...tag].length > limits.length) throw tooLong;
  if (!WORD.test(tag) || INVISIBLE.test(tag)) {
    throw new RangeError(WORDS.noHashtagUseLetters(spelled));
  }
  return tag;
}

/** A list with the typed hashtags added, and the rest that could not be added, with the reason. */
interface AddedTags {
  readonly tags: readonly string[];
  /** What stays in the field: the first word that is not a hashtag, and everything after it. */
  readonly rest: string;
  readonly problem: string | null;
}

/** The separators of hashtags: commas of all scripts, and white space. */
export const SEPARATOR = /[\s,，、،]+/u;

/** Add words separated by commas or spaces; an existing hashtag is not repeated. */
export function addTags(tags: readonly string[], text: string, limits: TagLimits): AddedTags {
  const words = text.split(SEPARATOR).filter((word) => word !== "");
  let added = tags;
  for (const [index, word] of words.entries()) {
    const rest = words.slice(index).join(" ");
    try {
      const tag = normalizeTag(word, limits);
      if (added.includes(tag)) continue;
      if (added.length >= limits.count) {
        return { tags: added, rest, problem: WORDS.postMostHashtags(limits.count) };
      }
      added = [...added, tag];
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return { tags: added, rest, problem: error.message };
    }
  }
  return { tags: added, rest: "", problem: null };
}
