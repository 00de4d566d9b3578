/** Keeps the caret in view: between the bars around the text, and above a phone's keyboard. */

import type { Extension } from "@codemirror/state";
import { EditorView, ViewPlugin } from "@codemirror/view";

/** The part of the page that is visible, as reported by `visualViewport`. */
interface Visible {
  readonly offsetTop: number;
  readonly height: number;
  readonly scale: number;
}

/** Free space around the line of the caret, in pixels. */
const ROOM = 12;

/**
 * How much the bars cover at the top and bottom of the visible part, in pixels.
 *
 * `head` is the lower edge of the bar above the text and `foot` the upper edge of the one below.
 */
export function coveredMargins(
  head: number | null,
  foot: number | null,
  { offsetTop, height }: Visible,
): { readonly top: number; readonly bottom: number } {
  const end = Math.min(foot ?? Number.POSITIVE_INFINITY, offsetTop + height);
  return {
    top: Math.max(head ?? 0, offsetTop) + ROOM,
    bottom: Math.max(0, height - end) + ROOM,
  };
}

/** How far a keyboard covers the page from below. On a page that is zoomed in, 0. */
export const keyboardHeight = (
  pageHeight: number,
  { offsetTop, height, scale }: Visible,
): number => (scale > 1.01 ? 0 : Math.max(0, Math.round(pageHeight - offsetTop - height)));

const visible = (): Visible =>
  window.visualViewport ?? { offsetTop: 0, height: window.innerHeight, scale: 1 };

function margins({ dom }: EditorView): { top: number; bottom: number } {
  const around = dom.closest(".writing");
  const box = (bar: string) => around?.querySelector(bar)?.getBoundingClientRect();
  const head = box(".writing-head");
  const foot = box(".writing-foot");
  return coveredMargins(
    head?.height ? head.bottom : null,
    foot?.height ? foot.top : null,
    visible(),
  );
}

/** Moves the bar below the text above the keyboard, and the caret into view. */
const followKeyboard = ViewPlugin.define((view) => {
  const follow = () => {
    const height = keyboardHeight(window.innerHeight, visible());
    document.documentElement.style.setProperty("--keyboard", `${height}px`);
    if (!view.hasFocus) return;
    const { head } = view.state.selection.main;
    view.dispatch({ effects: EditorView.scrollIntoView(head, { y: "nearest" }) });
  };
  window.visualViewport?.addEventListener("resize", follow);
  return {
    destroy() {
      window.visualViewport?.removeEventListener("resize", follow);
      document.documentElement.style.removeProperty("--keyboard");
    },
  };
});

export const visibleCaret: Extension = [EditorView.scrollMargins.of(margins), followKeyboard];
