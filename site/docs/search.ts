/** The search of the documentation: a dialog that `/` opens, with arrow keys for navigation. */

import { button, fill, h } from "../page/dom.ts";
import { type Entry, findEntries, readEntries } from "./search-index.ts";
import { WORDS } from "./words.ts";

export function addSearch(): void {
  const dialog = new SearchDialog();
  const open = button(
    h("span", null, WORDS.search),
    () => dialog.open(),
    { class: "open-search", "aria-label": WORDS.search, "aria-keyshortcuts": "/" },
    h("kbd", { "aria-hidden": "true" }, "/"),
  );
  document.getElementById("search")?.append(open);
  document.addEventListener("keydown", (event) => {
    const isTyping =
      event.target instanceof Element && event.target.closest("input,textarea,select");
    if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    dialog.open();
  });
}

class SearchDialog {
  private entries: Entry[] | null = null;
  private found: Entry[] = [];
  private chosen = 0;
  private readonly list = h("ul", { role: "listbox", id: "found", "aria-label": "Found" });
  private readonly status = h("p", { role: "status", class: "hint" });
  private readonly input = h("input", {
    // Not "search": there, Escape would only empty the field.
    type: "text",
    enterkeyhint: "search",
    role: "combobox",
    "aria-label": WORDS.searchOperationsErrorsFields,
    "aria-expanded": "false",
    "aria-controls": "found",
    "aria-autocomplete": "list",
    placeholder: WORDS.operationErrorField,
    autocomplete: "off",
    oninput: () => this.show(0),
    onkeydown: (event) => this.move(event),
  });
  private readonly dialog = h(
    "dialog",
    { class: "search", "aria-label": WORDS.search, onclick: (event) => this.leave(event) },
    h("div", { class: "search-body" }, this.input, this.list, this.status),
  );

  open(): void {
    if (!this.dialog.isConnected) document.body.append(this.dialog);
    this.entries ??= readEntries(document);
    this.input.value = "";
    this.show(0);
    if (!this.dialog.open) this.dialog.showModal();
    this.input.focus();
  }

  private show(chosen: number): void {
    this.found = findEntries(this.entries ?? [], this.input.value);
    this.chosen = chosen;
    const isEmpty = this.found.length === 0;
    this.input.setAttribute("aria-expanded", String(!isEmpty));
    this.list.hidden = isEmpty;
    this.status.textContent =
      this.input.value.trim() === ""
        ? WORDS.useArrowKeysChoose
        : isEmpty
          ? WORDS.noResults
          : WORDS.numberFound(this.found.length);
    fill(this.list, ...this.found.map((entry, index) => this.option(entry, index)));
    this.choose(chosen);
  }

  private option(entry: Entry, index: number): HTMLElement {
    return h(
      "li",
      { role: "option", id: `found-${index}`, onclick: () => this.go(entry) },
      h("span", { class: "found-title" }, entry.title),
      h("span", { class: "found-place" }, `${entry.kind} · ${entry.place}`),
    );
  }

  private choose(index: number): void {
    this.chosen = index;
    for (const [at, option] of [...this.list.children].entries()) {
      option.setAttribute("aria-selected", String(at === index));
      if (at === index) option.scrollIntoView({ block: "nearest" });
    }
    if (this.found.length > 0) this.input.setAttribute("aria-activedescendant", `found-${index}`);
    else this.input.removeAttribute("aria-activedescendant");
  }

  private move(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const count = this.found.length;
    if (step && count > 0) this.choose((this.chosen + step + count) % count);
    else if (event.key === "Enter") this.go(this.found[this.chosen]);
    else return;
    event.preventDefault();
  }

  private go(entry: Entry | undefined): void {
    if (!entry) return;
    this.dialog.close();
    // Also for the current fragment: setting it again would not scroll.
    location.hash = "";
    location.hash = entry.anchor;
  }

  private leave(event: MouseEvent): void {
    // A click on the backdrop is a click on the dialog itself.
    if (event.target === this.dialog) this.dialog.close();
  }
}
