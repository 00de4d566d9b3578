/** Adds a copy button to every code block. */

import { copyText, NotCopied } from "../page/clipboard.ts";
import { button } from "../page/dom.ts";
import { announce, notify } from "../page/notices.ts";
import { WORDS } from "./words.ts";

/** How long a button confirms the copy, in milliseconds. */
const SHOWN = 1500;

export function addCopyButtons(root: ParentNode): void {
  for (const block of root.querySelectorAll(".code")) {
    const control = button(WORDS.copy, () => void copy(control, block), { class: "copy" });
    block.prepend(control);
  }
}

async function copy(control: HTMLButtonElement, block: Element): Promise<void> {
  try {
    await copyText(block.querySelector("pre")?.textContent ?? "");
  } catch (error) {
    if (!(error instanceof NotCopied)) throw error;
    return void notify({ kind: "bad", text: error.message });
  }
  announce(WORDS.copied);
  control.textContent = WORDS.copied;
  setTimeout(() => {
    control.textContent = WORDS.copy;
  }, SHOWN);
}
