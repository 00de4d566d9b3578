/** The dialog that asks what a picture shows, and for its caption. */

import { button, h } from "../../../page/dom.ts";
import { WORDS } from "../../words.ts";
import type { PictureWords } from "./picture-insertion.ts";

/** Ask for the words of a picture; null if the author closes the dialog. */
export function askForWords(source: string, given: PictureWords): Promise<PictureWords | null> {
  return new Promise((resolve) => {
    const alt = h("input", { id: "picture-alt", type: "text", maxlength: 1000 });
    const caption = h("input", { id: "picture-caption", type: "text", maxlength: 1000 });
    alt.value = given.alt;
    caption.value = given.caption;
    let words: PictureWords | null = null;
    const submit = (event: Event) => {
      event.preventDefault();
      words = { alt: alt.value, caption: caption.value };
      dialog.close();
    };
    const dialog = h(
      "dialog",
      { class: "picture-dialog", "aria-labelledby": "picture-heading" },
      h(
        "form",
        { onsubmit: submit },
        h("h2", { id: "picture-heading" }, WORDS.aboutPicture),
        h("img", { src: source, alt: "" }),
        h("label", { for: "picture-alt" }, WORDS.pictureShows),
        alt,
        h("p", { class: "hint", id: "picture-hint" }, WORDS.pictureShowsHint),
        h("label", { for: "picture-caption" }, WORDS.pictureCaption),
        caption,
        h(
          "div",
          { class: "picture-actions" },
          h("button", { class: "primary" }, WORDS.done),
          button(WORDS.later, () => dialog.close()),
        ),
      ),
    );
    alt.setAttribute("aria-describedby", "picture-hint");
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(words);
    });
    document.body.append(dialog);
    dialog.showModal();
    alt.select();
  });
}
