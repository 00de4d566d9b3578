/** A button on every block of code that copies it. */

import { button } from "../page/dom.ts";
import { announce } from "../page/notices.ts";

/** How long a button says that it copied, in milliseconds. */
const SHOWN = 1500;

export function addCopyButtons(root: ParentNode): void {
  for (const block of root.querySelectorAll(".code")) {
    const copy = button("Copy", () => void copyText(copy, block), { class: "copy" });
    block.prepend(copy);
  }
}

async function copyText(copy: HTMLButtonElement, block: Element): Promise<void> {
  const text = block.querySelector("pre")?.textContent ?? "";
  let said = "Copied";
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    said = "Select the text and copy it: this browser does not let the page do it.";
  }
  announce(said);
  copy.textContent = said === "Copied" ? said : "Not allowed";
  setTimeout(() => {
    copy.textContent = "Copy";
  }, SHOWN);
}
