/** The permission to save without prompts: request it, show its expiry, revoke it. */

import type { WritingSessionRecord } from "imprint-press";
import { useEffect, useState } from "preact/hooks";
import { encryptionSentence, isEncrypted } from "../../page/encryption.ts";
import { moment } from "../../page/format.ts";
import { imprint } from "../../page/service.ts";
import { explain } from "../../wallet/index.ts";
import {
  forgetWriting,
  hasWritingSessions,
  startWriting,
  stopWriting,
  writing,
} from "../saves/writing-session.ts";
import { SignInAgain } from "../sign-in.tsx";
import { isSignedIn } from "../store/drafts.ts";
import { WORDS } from "../words.ts";

export function WritingPanel() {
  const session = writing.value;
  const [failure, setFailure] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  if (!hasWritingSessions) return null;
  const run = (act: () => Promise<void>) => async () => {
    setBusy(true);
    setFailure(null);
    try {
      await act();
    } catch (error) {
      const { isCancelled, sentence } = explain(error);
      if (!isCancelled) setFailure(sentence);
    } finally {
      setBusy(false);
    }
  };
  return (
    <details class="writing-panel">
      <summary>{session ? WORDS.savingAutomatically : WORDS.walletConfirmsEachSave}</summary>
      <div class="writing-body">
        {session ? (
          <p>
            {WORDS.until}
            <strong>{moment(session.expires)}</strong>
            {WORDS.browserSavesDraftsAutomatically}
          </p>
        ) : (
          <p>{WORDS.oneSignatureBrowserCan}</p>
        )}
        {session ? (
          <button type="button" disabled={isBusy || !isSignedIn.value} onClick={run(stopWriting)}>
            {WORDS.stopSavingAutomatically}
          </button>
        ) : !isEncrypted() ? (
          <p role="status">{encryptionSentence(WORDS.this)}</p>
        ) : (
          <button type="button" class="primary" disabled={isBusy} onClick={run(startWriting)}>
            {isBusy ? WORDS.checkWallet : WORDS.saveAutomatically24Hours}
          </button>
        )}
        {failure && <p role="alert">{failure}</p>}
        {isSignedIn.value ? <OpenSessions /> : <SignInAgain reason={WORDS.seeWhereElse} />}
      </div>
    </details>
  );
}

/** All browsers that may write for this wallet. */
function OpenSessions() {
  const [sessions, setSessions] = useState<readonly WritingSessionRecord[] | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  const current = writing.value?.id;
  const load = () =>
    imprint.listWritingSessions().then(setSessions, (error) => setFailure(explain(error).sentence));
  useEffect(() => void load(), [current]);
  const revoke = async (id: string) => {
    try {
      await imprint.revokeWritingSession(id);
      if (id === current) forgetWriting();
      await load();
    } catch (error) {
      setFailure(explain(error).sentence);
    }
  };
  if (failure) return <p role="alert">{failure}</p>;
  const others = sessions?.filter(({ id }) => id !== current) ?? [];
  if (others.length === 0) return null;
  return (
    <>
      <p>{WORDS.alsoOtherBrowsers}</p>
      <ul class="writing-list">
        {others.map(({ id, createdAt, expires }) => (
          <li key={id}>
            {WORDS.sinceUntil(moment(createdAt), moment(expires))}
            <button
              type="button"
              class="quiet"
              aria-label={WORDS.endOneSince(moment(createdAt))}
              onClick={() => void revoke(id)}
            >
              {WORDS.end}
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}
