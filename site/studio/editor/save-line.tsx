/** The save state in a sentence, and the save button. */

import { useState } from "preact/hooks";
import { explain, signIn } from "../../wallet/index.ts";
import type { OpenDraft } from "../saves/open-draft.ts";
import type { SaveState } from "../saves/save-state.ts";
import { startWriting, writing } from "../saves/writing-session.ts";
import { author } from "../store/drafts.ts";
import { isLocalKey } from "../store/local-copies.ts";
import { WORDS } from "../words.ts";

/** The state in a few words. */
function stateSentence(state: SaveState, isNew: boolean, hasCopy: boolean): string {
  switch (state.kind) {
    case "saved":
      return isNew ? WORDS.nothingWrittenYet : WORDS.saved;
    case "changed":
      if (!hasCopy) return isNew ? WORDS.notSavedYet : WORDS.unsavedChanges;
      return isNew ? WORDS.onlyBrowser : WORDS.unsavedChangesKeptBrowser;
    case "signing":
      return writing.value ? WORDS.saving : WORDS.confirmWallet;
    case "sending":
      return WORDS.saving;
    case "waiting":
      return WORDS.waitingService;
    case "refused":
      return WORDS.notSaved;
    case "conflict":
      return WORDS.savedElsewhere;
    case "gone":
      return state.postId ? WORDS.published : WORDS.noLongerSavedOnline;
  }
}

export function SaveButton({ draft, onSave }: { draft: OpenDraft; onSave(): void }) {
  const { kind } = draft.saving.value;
  const isBusy = kind === "signing" || kind === "sending";
  const isUseless = kind === "saved" || kind === "conflict" || kind === "gone";
  const isOther = author.value !== draft.account;
  const title = writing.value ? WORDS.saveNow : WORDS.saveWalletSignsOnce;
  return (
    <button
      type="button"
      class="primary save"
      title={title}
      aria-disabled={isBusy || isUseless || isOther}
      onClick={() => !isBusy && !isUseless && !isOther && onSave()}
    >
      {isBusy ? WORDS.saving : WORDS.save}
      {!writing.value && <small>{WORDS.walletSignsOnceNote}</small>}
    </button>
  );
}

/** The state, announced when it changes. */
export function SaveStanding({ draft }: { draft: OpenDraft }) {
  const state = draft.saving.value;
  // Reads the text on each change, so that the key of a new draft is followed.
  const isNew = isLocalKey(draft.key) && (draft.text.value === "" || state.kind !== "saved");
  // Phones show only the first half; screen readers announce all of it.
  const [sentence, more] = stateSentence(state, isNew, draft.hasCopy).split(", ");
  return (
    <span class="standing" data-kind={state.kind} role="status">
      {sentence}
      {more && <span class="standing-more">, {more}</span>}
    </span>
  );
}

/** The warning, next to the save state, that the browser stores no copy. */
export function KeepTrouble({ draft }: { draft: OpenDraft }) {
  if (!draft.keeping.value) return null;
  return (
    <div class="studio-note bad" role="alert">
      <p>{draft.keeping.value}</p>
    </div>
  );
}

/** The failure of a save, and what to do. */
export function SaveTrouble({ draft }: { draft: OpenDraft }) {
  const state = draft.saving.value;
  const [failure, setFailure] = useState<string | null>(null);
  const attempt = (act: () => Promise<unknown>) => async () => {
    setFailure(null);
    try {
      await act();
    } catch (error) {
      const { isCancelled, sentence } = explain(error);
      if (!isCancelled) setFailure(sentence);
    }
  };
  const saveAgain = () => draft.save({ isAsked: true });
  const signInAndSave = attempt(async () => {
    await signIn();
    await saveAgain();
  });
  const allowAndSave = attempt(async () => {
    await startWriting();
    await saveAgain();
  });
  if (state.kind === "waiting")
    return (
      <div class="studio-note" role="status">
        <p>{state.sentence}</p>
        <button type="button" onClick={() => void saveAgain()}>
          {WORDS.tryNow}
        </button>
      </div>
    );
  if (state.kind !== "refused") return null;
  return (
    <div class="studio-note bad" role="alert">
      <p>{failure ?? state.sentence}</p>
      {state.action === "save" && (
        <button type="button" onClick={attempt(saveAgain)}>
          {WORDS.saveAgain}
        </button>
      )}
      {state.action === "sign-in" && (
        <button type="button" onClick={signInAndSave}>
          {WORDS.signIn}
        </button>
      )}
      {state.action === "session" && (
        <>
          <button type="button" onClick={attempt(saveAgain)}>
            {WORDS.saveWallet}
          </button>
          <button type="button" onClick={allowAndSave}>
            {WORDS.saveAutomaticallyAnother24}
          </button>
        </>
      )}
    </div>
  );
}
