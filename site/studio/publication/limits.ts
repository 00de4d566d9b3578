/** The limits of a post, set by the contract and the service, checked while the author types. */

import { POST_LIMITS, parseCoin } from "imprint-press";
import { coin } from "../../page/format.ts";
import { WORDS } from "../words.ts";

const encoder = new TextEncoder();

/** The size of a text in bytes of UTF-8, as the contract measures it. */
export const byteLength = (text: string): number => encoder.encode(text).length;

/** How full a field is in characters, and a sentence if its text cannot be published. */
export interface Measure {
  readonly used: number;
  /** How many characters of this text's scripts fit: the contract limits bytes. */
  readonly limit: number;
  readonly isOver: boolean;
  readonly problem: string | null;
}

const segments = new Intl.Segmenter();

/** The characters of a text as its author sees them. */
const charactersOf = (text: string): string[] =>
  [...segments.segment(text)].map(({ segment }) => segment);

/** A title in its form for the chain: one line, trimmed. */
export const cleanTitle = (text: string): string => text.replace(/\s+/g, " ").trim();

/** A description in its form for the chain: trimmed. */
export const cleanDescription = (text: string): string => text.trim();

export function measureTitle(text: string): Measure {
  const measure = measureText("title", cleanTitle(text), POST_LIMITS.titleBytes);
  return measure.used === 0 ? { ...measure, problem: WORDS.givePostTitle } : measure;
}

export function measureDescription(text: string): Measure {
  return measureText("description", cleanDescription(text), POST_LIMITS.descriptionBytes);
}

function measureText(name: string, text: string, limitBytes: number): Measure {
  const characters = charactersOf(text);
  const used = characters.length;
  let bytes = byteLength(text);
  let fitting = used;
  while (bytes > limitBytes) {
    fitting -= 1;
    bytes -= byteLength(characters[fitting] ?? "");
  }
  const over = used - fitting;
  const left = over ? 0 : Math.floor((limitBytes - bytes) / (used ? bytes / used : 1));
  const measure = { used, limit: fitting + left, isOver: over > 0 };
  if (/\p{Surrogate}/u.test(text))
    return { ...measure, problem: WORDS.containsHalfCharacterType(name) };
  return {
    ...measure,
    problem: over ? WORDS.shortenTheBy(name, WORDS.characterCount(over)) : null,
  };
}

/** Cut a text to this many bytes, at the end of a word if there is one in the last third. */
export function fitBytes(text: string, limit: number): string {
  if (byteLength(text) <= limit) return text;
  let kept = "";
  let used = byteLength("…");
  for (const character of text) {
    used += byteLength(character);
    if (used > limit) break;
    kept += character;
  }
  const space = kept.lastIndexOf(" ");
  return `${(space > kept.length * 0.66 ? kept.slice(0, space) : kept).trimEnd()}…`;
}

/**
 * Parse a price in the coin into wei; an empty one is free.
 *
 * Throws `RangeError` with a sentence for its author.
 */
export function parsePrice(text: string): bigint {
  const written = text.trim();
  if (written === "") return 0n;
  if (written.includes(",")) {
    throw new RangeError(WORDS.useDecimalPointNo);
  }
  const price = parseCoin(written.startsWith(".") ? `0${written}` : written.replace(/\.$/, ""));
  if (price > POST_LIMITS.priceWei) {
    throw new RangeError(WORDS.priceCanMost(coin(POST_LIMITS.priceWei)));
  }
  return price;
}

/** What is wrong with a price, or null. */
export function priceProblem(text: string): string | null {
  try {
    parsePrice(text);
    return null;
  } catch (error) {
    if (error instanceof RangeError) return error.message;
    throw error;
  }
}
