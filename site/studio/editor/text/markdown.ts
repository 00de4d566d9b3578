/** Markdown for the editor: its grammar and its highlighting. */

import {
  defineLanguageFacet,
  HighlightStyle,
  Language,
  languageDataProp,
  syntaxHighlighting,
} from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { tags } from "@lezer/highlight";
import { GFM, parser } from "@lezer/markdown";

const data = defineLanguageFacet();
const grammar = parser.configure([GFM, { props: [languageDataProp.add({ Document: data })] }]);

/** The highlighting, with classes of the style sheet. */
const style = HighlightStyle.define([
  { tag: tags.heading1, class: "md-heading md-heading-1" },
  { tag: tags.heading2, class: "md-heading md-heading-2" },
  { tag: tags.heading, class: "md-heading" },
  { tag: tags.strong, class: "md-strong" },
  { tag: tags.emphasis, class: "md-emphasis" },
  { tag: tags.strikethrough, class: "md-strike" },
  { tag: tags.link, class: "md-link" },
  { tag: tags.url, class: "md-url" },
  { tag: tags.monospace, class: "md-code" },
  { tag: tags.quote, class: "md-quote" },
  { tag: [tags.processingInstruction, tags.contentSeparator], class: "md-mark" },
]);

export const markdown: Extension = [
  new Language(data, grammar, [], "markdown").extension,
  syntaxHighlighting(style),
];
