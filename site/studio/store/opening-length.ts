/** The opening of a text: what everybody may read of a paid post, up to the line `<!--more-->`. */

import { GFM, parser } from "@lezer/markdown";
import { countWords, MARK } from "./draft-text.ts";

/** The name of a block of Markdown that is an HTML comment. */
export const COMMENT = "CommentBlock";

const grammar = parser.configure(GFM);

/** How many words a text has, and how many of them everybody may read. */
export function measureOpening(content: string): { words: number; free: number } {
  const text = content.replace(/\r\n?/g, "\n");
  return { words: countWords(text), free: countWords(openingOf(text)) };
}

/** The Markdown above the line, empty without one. Texts of the earlier front end have none. */
function openingOf(text: string): string {
  if (!text.includes(MARK) || isJson(text)) return "";
  const block = grammar.parse(text).cursor();
  for (let more = block.firstChild(); more; more = block.nextSibling()) {
    const isMark = block.name === COMMENT && text.slice(block.from, block.to).trim() === MARK;
    if (isMark) return text.slice(0, block.from);
  }
  return "";
}

function isJson(text: string): boolean {
  try {
    return text.trimStart().startsWith("{") && typeof JSON.parse(text) === "object";
  } catch {
    return false;
  }
}
