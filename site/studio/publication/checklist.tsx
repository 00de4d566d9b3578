/** What is still missing before a post is published, and what cannot be changed afterwards. */

import { WORDS } from "../words.ts";
import type { Form } from "./kept-publication.ts";

interface ChecklistProps {
  /** How many pictures of the text have no description. */
  undescribed: number;
  description: string;
  picture: Form["picture"];
  textPath: string;
  onDescription(): void;
}

export function Checklist(props: ChecklistProps) {
  const { undescribed, description, picture, textPath, onDescription } = props;
  const isUndescribed = description.trim() === "";
  return (
    <section class="publish-check" aria-labelledby="publish-check-heading">
      <h2 id="publish-check-heading">{WORDS.beforePublish}</h2>
      {(isUndescribed || undescribed > 0) && (
        <>
          <h3>{WORDS.missing}</h3>
          <ul class="publish-missing">
            {undescribed > 0 && (
              <li>
                <a href={textPath}>{WORDS.describePictures(undescribed)}</a>
              </li>
            )}
            {isUndescribed && (
              <li>
                <button type="button" onClick={onDescription}>
                  {WORDS.writeDescription}
                </button>
              </li>
            )}
          </ul>
        </>
      )}
      <h3>{WORDS.fixedLater}</h3>
      <ul>
        <li>{picture === "own" ? WORDS.fixedOwnPicture : WORDS.fixedMadePicture}</li>
        <li>{WORDS.fixedDetails}</li>
        <li>{WORDS.fixedText}</li>
      </ul>
      <p class="publish-hint">{WORDS.changeablePrice}</p>
    </section>
  );
}
