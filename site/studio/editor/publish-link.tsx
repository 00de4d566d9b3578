/** The link from an open draft to its publication, which saves it if necessary. */

import { notify } from "../../page/notices.ts";
import { formatRoute, go } from "../routes.ts";
import type { OpenDraft } from "../saves/open-draft.ts";
import { author } from "../store/drafts.ts";

interface PublishLinkProps {
  readonly draft: OpenDraft;
  /** There is nothing to publish yet. */
  onEmpty(): void;
}

/** What has to be done before the draft can be published; null if nothing. */
function obstacleOf(draft: OpenDraft): string | null {
  const state = draft.saving.value;
  if (author.value === null) return "No wallet is connected. Connect the author’s, then publish.";
  if (author.value !== draft.account)
    return "Your wallet shows another account. Switch back to the author’s, then publish.";
  if (state.kind === "conflict")
    return "This draft was saved somewhere else, too. Choose what to go on with, then publish.";
  if (state.kind === "gone")
    return state.postId
      ? "This draft is published already."
      : "This draft was deleted somewhere else. Go on with it as a new draft, then publish.";
  if (draft.text.value.trim() === "")
    return "There is nothing to publish yet. Write the text first.";
  return null;
}

export function PublishLink({ draft, onEmpty }: PublishLinkProps) {
  const obstacle = obstacleOf(draft);
  const refuse = (sentence: string) => void notify({ kind: "info", text: sentence });
  if (obstacle !== null)
    return (
      <button
        type="button"
        class="publish-link"
        title={obstacle}
        onClick={() => {
          refuse(obstacle);
          if (draft.text.value.trim() === "") onEmpty();
        }}
      >
        Publish…
      </button>
    );
  const open = async () => {
    // The form and its first save read the text from this browser.
    await draft.settle();
    // The author has left this view meanwhile.
    if (draft.isLeft) return;
    const met = obstacleOf(draft);
    if (met !== null) return refuse(met);
    if (!draft.isKept)
      return refuse("This browser keeps no copy of your text. Save it first, then publish.");
    go({ view: "publish", key: draft.key });
  };
  return (
    <a
      class="button publish-link"
      href={formatRoute({ view: "publish", key: draft.key })}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        void open();
      }}
    >
      Publish…
    </a>
  );
}
