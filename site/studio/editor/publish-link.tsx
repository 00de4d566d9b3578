/** The link from an open draft to its publication, which saves it if necessary. */

import { notify } from "../../page/notices.ts";
import { formatRoute, go } from "../routes.ts";
import type { OpenDraft } from "../saves/open-draft.ts";
import { author } from "../store/drafts.ts";
import { WORDS } from "../words.ts";

interface PublishLinkProps {
  readonly draft: OpenDraft;
  /** There is nothing to publish yet. */
  onEmpty(): void;
}

/** What has to be done before the draft can be published; null if nothing. */
function obstacleOf(draft: OpenDraft): string | null {
  const state = draft.saving.value;
  if (author.value === null) return WORDS.noWalletConnectedConnect;
  if (author.value !== draft.account) return WORDS.publishFromAuthor;
  if (state.kind === "conflict") return WORDS.chooseVersionFirst;
  if (state.kind === "gone")
    return state.postId ? WORDS.draftAlreadyPublished : WORDS.draftDeletedElsewhereContinue;
  if (draft.text.value.trim() === "") return WORDS.theresNothingPublishYet;
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
        {WORDS.openPublishing}
      </button>
    );
  const open = async () => {
    // The form and its first save read the text from this browser.
    await draft.settle();
    // The author has left this view meanwhile.
    if (draft.isLeft) return;
    const met = obstacleOf(draft);
    if (met !== null) return refuse(met);
    if (!draft.isKept) return refuse(WORDS.saveBeforePublishing);
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
      {WORDS.openPublishing}
    </a>
  );
}
