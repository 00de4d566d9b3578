/** Continuing a published post in a new draft of this browser. */

import { useEffect, useState } from "preact/hooks";
import { imprint } from "../../page/service.ts";
import { explain } from "../../wallet/index.ts";
import { FailureNote } from "../failure-note.tsx";
import { go } from "../routes.ts";
import { titleOf } from "../store/draft-text.ts";
import { author } from "../store/drafts.ts";
import { localCopies, newLocalKey } from "../store/local-copies.ts";
import { thisTab } from "../store/tabs.ts";
import { WORDS as STUDIO_WORDS } from "../words.ts";
import { WORDS } from "./words.ts";

/** Copy the newest text of a post into a new draft, which is not saved yet. Returns its key. */
export async function continueInNewDraft(postId: string, title = ""): Promise<string> {
  const account = author.value;
  if (!account) throw new Error(STUDIO_WORDS.connectWalletFirst);
  const { content } = await imprint.readPostContent(postId);
  const note = WORDS.continues(title || titleOf(content) || WORDS.postNumber(postId));
  const [key, tab] = [newLocalKey(), await thisTab()];
  const copy = { account, key, tab, base: null, content, isSaved: false, note };
  await localCopies.put({ ...copy, changedAt: Date.now() });
  return key;
}

/** Opens a new draft with the text of a post; the back button does not open another one. */
export function ContinueView({ postId }: { postId: string }) {
  const [failure, setFailure] = useState<string | null>(null);
  const open = () => {
    setFailure(null);
    continueInNewDraft(postId).then(
      (key) => go({ view: "draft", key }, { replace: true }),
      (error) => setFailure(explain(error).sentence),
    );
  };
  useEffect(open, []);
  if (failure) return <FailureNote sentence={failure} onRetry={open} />;
  return (
    <p class="studio-wait" role="status">
      {WORDS.openingNewDraft}
    </p>
  );
}
