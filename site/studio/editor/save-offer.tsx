/** The offer at the first save: one signature for this save, or for all of the next 24 hours. */

import { useEffect, useRef, useState } from "preact/hooks";
import { isEncrypted } from "../../page/encryption.ts";
import { recall, remember } from "../../page/storage.ts";
import { explain } from "../../wallet/index.ts";
import type { OpenDraft } from "../saves/open-draft.ts";
import { hasWritingSessions, startWriting, writing } from "../saves/writing-session.ts";
import { WORDS } from "../words.ts";

const declinedKey = (account: string): string => `imprint.single-saves.${account}`;

/** Whether to offer automatic saving, unless the author has chosen to sign each save. */
const isOffered = ({ account, isUnsaved }: OpenDraft): boolean =>
  isUnsaved &&
  hasWritingSessions &&
  isEncrypted() &&
  writing.value === null &&
  recall(declinedKey(account)) === null;

/** Saves a draft when its author asks, and tells whether the offer is shown first. */
export function useSaves(draft: OpenDraft) {
  const [isAsking, setAsking] = useState(false);
  const save = () => {
    const { kind } = draft.saving.value;
    const isFirst = kind === "changed" || kind === "refused";
    if (isFirst && isOffered(draft)) setAsking(true);
    else void draft.save({ isAsked: true });
  };
  return { save, isAsking, close: () => setAsking(false) };
}

interface SaveOfferProps {
  readonly draft: OpenDraft;
  onClose(): void;
}

export function SaveOffer({ draft, onClose }: SaveOfferProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [failure, setFailure] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  useEffect(() => dialog.current?.showModal(), []);
  const finish = () => {
    // The browser returns the focus to where it was.
    dialog.current?.close();
    void draft.save({ isAsked: true });
  };
  const saveAutomatically = async () => {
    setBusy(true);
    setFailure(null);
    try {
      await startWriting();
      finish();
    } catch (error) {
      const { isCancelled, sentence } = explain(error);
      if (!isCancelled) setFailure(sentence);
      setBusy(false);
    }
  };
  const saveOnce = () => {
    remember(declinedKey(draft.account), true);
    finish();
  };
  return (
    <dialog ref={dialog} class="save-offer" aria-labelledby="save-offer-heading" onClose={onClose}>
      <h2 id="save-offer-heading">{WORDS.saveHow}</h2>
      <p>{WORDS.oneSignatureBrowserCan}</p>
      {failure && <p role="alert">{failure}</p>}
      <div class="save-offer-choices">
        <button
          type="button"
          class="primary"
          disabled={isBusy}
          // biome-ignore lint/a11y/noAutofocus: the default of a dialog that the author opened
          autoFocus
          onClick={() => void saveAutomatically()}
        >
          {isBusy ? WORDS.checkWallet : WORDS.saveAutomaticallyToday}
        </button>
        <button type="button" disabled={isBusy} onClick={saveOnce}>
          {WORDS.saveOnce}
        </button>
      </div>
    </dialog>
  );
}
