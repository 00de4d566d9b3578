/** Asks before something is sent that cannot be undone. */

import { button, h } from "../../page/dom.ts";
import type { Operation } from "./request.ts";

/** Whether the user wants it all the same. */
export function confirmed({ method, path, name }: Operation): Promise<boolean> {
  return new Promise((resolve) => {
    let isWanted = false;
    const dialog = h("dialog", { class: "confirm", "aria-labelledby": "confirm-title" });
    const end = (confirmed: boolean): void => {
      isWanted = confirmed;
      dialog.close();
    };
    // Escape closes it too.
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
