/** Asks for confirmation before something irreversible is sent. */

import { button, h } from "../../page/dom.ts";
import type { Operation } from "./request.ts";

/** Whether the user confirms. */
export function confirmed({ method, path, name }: Operation): Promise<boolean> {
  return new Promise((resolve) => {
    let isWanted = false;
    const dialog = h("dialog", { class: "confirm", "aria-labelledby": "confirm-title" });
    const end = (confirmed: boolean): void => {
      isWanted = confirmed;
      dialog.close();
    };
    // Escape also closes it.
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(isWanted);
    });
    dialog.append(
      h("h2", { id: "confirm-title" }, "This cannot be undone"),
      h("p", null, h("code", null, `${method} ${path}`), " takes effect on this service at once."),
      h(
        "p",
        { class: "choices-row" },
        button("Do not send", () => end(false), { autofocus: true }),
        button(name === "deleteDraft" ? "Delete the draft" : "Send", () => end(true), {
          class: "danger",
        }),
      ),
    );
    document.body.append(dialog);
    dialog.showModal();
  });
}
