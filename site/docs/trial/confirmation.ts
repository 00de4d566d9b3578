/** Asks for confirmation before something irreversible is sent. */

import { button, h } from "../../page/dom.ts";
import { WORDS } from "../words.ts";
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
      h("h2", { id: "confirm-title" }, WORDS.cantUndone),
      h("p", null, h("code", null, `${method} ${path}`), WORDS.takesEffectServiceOnce),
      h(
        "p",
        { class: "choices-row" },
        button(WORDS.dontSend, () => end(false), { autofocus: true }),
        button(name === "deleteDraft" ? WORDS.deleteDraft : WORDS.send, () => end(true), {
          class: "danger",
        }),
      ),
    );
    document.body.append(dialog);
    dialog.showModal();
  });
}
