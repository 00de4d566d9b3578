/** Asking the author to connect a wallet, or to sign in with it. */

import { useEffect, useRef, useState } from "preact/hooks";
import { CHOICE_KEY, recall } from "../page/storage.ts";
import { reconnect } from "../wallet/connection.ts";
import { connect, explain, signIn } from "../wallet/index.ts";
import { WORDS } from "./words.ts";

/** The view without a connected wallet; an earlier wallet is reconnected first. */
export function Welcome() {
  const [isSought, setSought] = useState(() => recall(CHOICE_KEY) !== null);
  useEffect(() => {
    let isShown = true;
    if (isSought)
      void reconnect()
        .catch(() => null)
        .then(() => isShown && setSought(false));
    return () => {
      isShown = false;
    };
  }, []);
  if (isSought)
    return (
      <p class="studio-wait" role="status">
        {WORDS.lookingWallet}
      </p>
    );
  return (
    <section class="studio-empty">
      <h1>{WORDS.startWriting}</h1>
      <p>{WORDS.walletAccountSignsWords}</p>
      <SignInButton label={WORDS.connectWallet} />
    </section>
  );
}

/** Offer to sign in, because something cannot be shown without a session. */
export function SignInAgain({ reason }: { reason: string }) {
  return (
    <div class="studio-note" role="status">
      <p>{WORDS.signWalletSignsMessage(reason)}</p>
      <SignInButton label={WORDS.signIn} />
    </div>
  );
}

export function SignInButton({ label }: { label: string }) {
  const [isAsked, setAsked] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  const isThere = useRef(true);
  useEffect(
    () => () => {
      isThere.current = false;
    },
    [],
  );
  const ask = async () => {
    setAsked(true);
    setFailure(null);
    try {
      // A session does not prove that the wallet is available: it may be locked.
      await connect();
      await signIn();
    } catch (error) {
      const { sentence, isCancelled } = explain(error);
      if (isThere.current) setFailure(isCancelled ? null : sentence);
    } finally {
      if (isThere.current) setAsked(false);
    }
  };
  return (
    <>
      <button type="button" class="primary" disabled={isAsked} onClick={ask}>
        {isAsked ? WORDS.checkWallet : label}
      </button>
      {failure && <p role="alert">{failure}</p>}
    </>
  );
}
