/** Notices at the edge of the page, which are announced and take no focus. */

import { button, h } from "./dom.ts";
import { WORDS } from "./words.ts";

interface Notice {
  kind: "info" | "good" | "bad";
  text: string;
  action?: { label: string; run: () => void };
}

/** How long a notice without an action is shown, in milliseconds; errors stay until closed. */
const SHOWN = 8000;

let spoken: HTMLElement | undefined;
let shown: HTMLElement | undefined;

/** Announce a text to screen readers, without showing it. */
export function announce(text: string): void {
  spoken ??= document.body.appendChild(
    h("div", { class: "unseen", role: "status", "aria-live": "polite" }),
  );
  // Screen readers are silent when the same text comes twice.
  spoken.textContent = spoken.textContent === text ? `${text}\u00a0` : text;
}

/** Show and announce a notice. Returns a function that closes it. */
export function notify({ kind, text, action }: Notice): () => void {
  shown ??= document.body.appendChild(
    h("div", { class: "notices", role: "status", "aria-live": "polite" }),
  );
  const notice = h("div", { class: "notice", "data-kind": kind });
  const close = () => notice.remove();
  const run = () => {
    close();
    action?.run();
  };
  notice.append(
    h("p", null, text),
    ...(action ? [button(action.label, run, { class: "quiet" })] : []),
    button("×", close, { class: "close", "aria-label": WORDS.close }),
  );
  shown.append(notice);
  if (kind !== "bad" && !action) setTimeout(close, SHOWN);
  return close;
}
