/** Hashtags as the service normalizes them, so that authors see what readers will. */

/** `hashtags` and `hashtag_length` of the service's limits. */
export interface TagLimits {
  readonly count: number;
  readonly length: number;
}

/** Combining marks that are not displayed: two hashtags that look the same would differ. */
const INVISIBLE =
  /\u034f|\u17b4|\u17b5|[\u180b-\u180d]|\u180f|[\ufe00-\ufe0f]|[\u{e0100}-\u{e01ef}]/u;

/** Letters with their combining marks, digits, `_` and `-`. */
const WORD = /^(?:\p{L}\p{M}*|[\p{N}_-])+$/u;

/** Before normalization, which composes up to four characters into one. */
const SPELLING = 8;

/** One hashtag in its one spelling. Throws `RangeError` with a sentence for whoever wrote it. */
export function normalizeTag(text: string, limits: TagLimits): string {
  const spelled = text.trim().replace(/^#/, "");
  const tooLong = new RangeError(`A hashtag has at most ${limits.length} characters.`);
  if (spelled === "") throw new RangeError("Write a word after the #.");
  if ([...spelled].length > SPELLING * limits.length) throw tooLong;
  const tag = spelled.normalize("NFKC").toLowerCase().normalize("NFKC");
  if ([...tag].length > limits.length) throw tooLong;
  if (!WORD.test(tag) || INVISIBLE.test(tag)) {
    throw new RangeError(`“${spelled}” is no hashtag: use letters, digits, _ and -.`);
  }
  return tag;
}

/** A list with what was typed added to it, and what of it could not be added, with the reason. */
interface AddedTags {
  readonly tags: readonly string[];
  /** What stays in the field: the first word that is no hashtag, and all after it. */
  readonly rest: string;
  readonly problem: string | null;
}

/** Add words that are separated by commas or spaces; a hashtag that is there already stays once. */
export function addTags(tags: readonly string[], text: string, limits: TagLimits): AddedTags {
  const words = text.split(/[\s,]+/u).filter((word) => word !== "");
  let added = tags;
  for (const [index, word] of words.entries()) {
    const rest = words.slice(index).join(" ");
    try {
      const tag = normalizeTag(word, limits);
      if (added.includes(tag)) continue;
      if (added.length >= limits.count) {
        return { tags: added, rest, problem: `A post has at most ${limits.count} hashtags.` };
      }
      added = [...added, tag];
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return { tags: added, rest, problem: error.message };
    }
  }
  return { tags: added, rest: "", problem: null };
}
