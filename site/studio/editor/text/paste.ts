/** Turns pasted text into a link of the selected words, Markdown from rich text, or a title. */

import { invertedEffects, isolateHistory } from "@codemirror/commands";
import { syntaxTree } from "@codemirror/language";
import {
  ChangeSet,
  EditorState,
  type Extension,
  StateEffect,
  type Transaction,
  type TransactionSpec,
} from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { splitTitle } from "../../store/draft-text.ts";

/** The number of characters above which rich text is pasted as plain text. */
const LONGEST = 1_000_000;
const ADDRESS = /^(?:https?:\/\/|mailto:)[^\s<>()]+$/i;

/** A link of the selected words to a pasted address; null if it is something else. */
export function linkOver(state: EditorState, pasted: string): TransactionSpec | null {
  const { main, ranges } = state.selection;
  const address = pasted.trim();
  const words = state.sliceDoc(main.from, main.to);
  if (ranges.length > 1 || !ADDRESS.test(address) || !/\S/.test(words)) return null;
  if (/[\n[\]]/.test(words) || ADDRESS.test(words.trim()) || isCode(state)) return null;
  const insert = `[${words}](${address})`;
  return {
    changes: { from: main.from, to: main.to, insert },
    selection: { anchor: main.from + insert.length },
    scrollIntoView: true,
    userEvent: "input.paste",
  };
}

/** Whether pasted HTML has anything that plain text lacks; code editors only add colours. */
export const isRich = (html: string, types: readonly string[]): boolean =>
  html.length <= LONGEST &&
  !types.includes("vscode-editor-data") &&
  /font-(?:weight:\s*(?:bold|[6-9]00)|style:\s*italic)|<(?:a\s|b\b|strong|i\b|em\b|h[1-6]|ul|ol|li|table|blockquote|pre|code|img|del|s\b)/i.test(
    html,
  );

/** Turn styles, which Google Docs and other word processors use, into elements. */
export const withMarks = (html: string): string =>
  html
    .replace(/<b\s[^<>]*font-weight:\s*normal[^<>]*>/gi, "<span>")
    .replace(/<span\b([^<>]*)>([^<>]*\S[^<>]*)<\/span>/gi, (span, style: string, words: string) => {
      const strong = /font-weight:\s*(?:bold|[6-9]00)/i.test(style)
        ? `<strong>${words}</strong>`
        : words;
      const marked = /font-style:\s*italic/i.test(style) ? `<em>${strong}</em>` : strong;
      return marked === words ? span : marked;
    });

/** Whether the cursor is in code, where Markdown means nothing. */
export function isCode(state: EditorState): boolean {
  const { head } = state.selection.main;
  for (let node = syntaxTree(state).resolveInner(head, -1); node.parent; node = node.parent)
    if (/Code/.test(node.name)) return true;
  return false;
}

/**
 * Replaces pasted words with Markdown once it is converted, unless the author has changed them.
 * Undo restores the plain words.
 */
function replaceLater(view: EditorView, from: number, plain: string, markdown: Promise<string>) {
  const following = { changes: ChangeSet.empty(view.state.doc.length) };
  pasted.set(view, [...(pasted.get(view) ?? []), following]);
  void markdown
    .then((text) => {
      const start = following.changes.mapPos(from, 1);
      const end = following.changes.mapPos(from + plain.length, -1);
      if (text === plain || view.state.sliceDoc(start, end) !== plain) return;
      const isBehind = view.state.selection.main.head === end;
      view.dispatch({
        changes: { from: start, to: end, insert: text },
        ...(isBehind && { selection: { anchor: start + text.length } }),
        scrollIntoView: isBehind,
        userEvent: "input.paste",
        annotations: isolateHistory.of("full"),
      });
    })
    // Without the converter, for example offline, the plain words stay.
    .catch(() => undefined)
    .finally(() => {
      pasted.set(
        view,
        (pasted.get(view) ?? []).filter((each) => each !== following),
      );
    });
}

/** The changes since each paste that waits for its Markdown. */
const pasted = new WeakMap<EditorView, { changes: ChangeSet }[]>();

/** Loaded on demand: most texts are typed. */
async function convert(html: string): Promise<string> {
  const { htmlToMarkdown, newHtmlDraft } = await import("../../import/formats/html.ts");
  return htmlToMarkdown(withMarks(html), newHtmlDraft(null));
}

/** A change of the title, which is not a part of the document. */
export const titleChange = StateEffect.define<{ readonly from: string; readonly to: string }>();

/** Makes the heading of an untitled text its title if all of the text is pasted. */
export const pastedTitle = (isUntitled: () => boolean): Extension => [
  EditorState.transactionFilter.of((transaction) =>
    transaction.isUserEvent("input.paste") && replacesAll(transaction) && isUntitled()
      ? withoutTitle(transaction)
      : transaction,
  ),
  invertedEffects.of(({ effects }) =>
    effects
      .filter((effect) => effect.is(titleChange))
      .map(({ value: { from, to } }) => titleChange.of({ from: to, to: from })),
  ),
];

function replacesAll({ changes, startState }: Transaction): boolean {
  let isAll = false;
  changes.iterChangedRanges((from, to) => {
    isAll ||= from === 0 && to === startState.doc.length;
  });
  return isAll;
}

function withoutTitle(transaction: Transaction): Transaction | TransactionSpec {
  const { title, body } = splitTitle(transaction.newDoc.toString().trimStart());
  if (!title) return transaction;
  return {
    changes: { from: 0, to: transaction.startState.doc.length, insert: body },
    selection: { anchor: body.length },
    effects: titleChange.of({ from: "", to: title }),
    scrollIntoView: true,
    userEvent: "input.paste",
    annotations: isolateHistory.of("full"),
  };
}

export const plainText = (data: DataTransfer | null): string =>
  (data?.getData("text/plain") ?? "").replace(/\r\n?/g, "\n");

/** Paste text at the cursor, and replace it with its Markdown if it is rich. */
export function pasteText(view: EditorView, data: DataTransfer): void {
  const plain = plainText(data);
  const html = data.getData("text/html");
  const { from, to } = view.state.selection.main;
  const isMarked = isRich(html, data.types) && !isCode(view.state);
  view.dispatch({
    changes: { from, to, insert: plain },
    selection: { anchor: from + plain.length },
    scrollIntoView: true,
    userEvent: "input.paste",
    annotations: isolateHistory.of("full"),
  });
  if (isMarked) replaceLater(view, from, plain, convert(html));
}

export const richPaste: Extension = [
  EditorView.updateListener.of(({ view, docChanged, changes }) => {
    if (!docChanged) return;
    for (const following of pasted.get(view) ?? [])
      following.changes = following.changes.compose(changes);
  }),
  EditorView.domEventHandlers({
    paste({ clipboardData: data }, view) {
      const plain = plainText(data);
      const link = linkOver(view.state, plain);
      if (link) {
        view.dispatch(link);
        return true;
      }
      const html = data?.getData("text/html") ?? "";
      const isOne = view.state.selection.ranges.length === 1;
      if (!data || !plain || !isOne || !isRich(html, data.types) || isCode(view.state))
        return false;
      pasteText(view, data);
      return true;
    },
  }),
];
