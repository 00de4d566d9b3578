/** The view in which a draft is written: text, preview, and save state. */

import { useEffect, useRef, useState } from "preact/hooks";
import { explain } from "../../wallet/index.ts";
import { go } from "../routes.ts";
import { NoSuchDraft, openDraft, SessionNeeded } from "../saves/draft-loader.ts";
import type { DraftEvents, OpenDraft } from "../saves/open-draft.ts";
import { SignInAgain, Welcome } from "../sign-in.tsx";
import { author, isSignedIn } from "../store/drafts.ts";
import { WORDS } from "../words.ts";
import { WritingRoom } from "./writing-room.tsx";

type Opening =
  | { readonly kind: "opening" }
  | { readonly kind: "open"; readonly draft: OpenDraft }
  | { readonly kind: "sign-in" }
  | { readonly kind: "failed"; readonly sentence: string; readonly isGone: boolean };

/** A draft that gets another key, as with its first save, stays open. */
export function EditorView({ draftKey }: { draftKey: string }) {
  const openedAs = useRef(new Map<string, string>());
  const first = openedAs.current.get(draftKey) ?? draftKey;
  const follow = (key: string) => {
    openedAs.current.set(key, first);
    go({ view: "draft", key }, { replace: true });
  };
  return <OpenedView key={first} draftKey={draftKey} onKey={follow} />;
}

function OpenedView({ draftKey, onKey }: { draftKey: string; onKey(key: string): void }) {
  const [opening, setOpening] = useState<Opening>({ kind: "opening" });
  const [attempt, setAttempt] = useState(0);
  const replace = useRef<DraftEvents["onText"]>(() => undefined);
  const canOpen = author.value !== null;
  const isReader = isSignedIn.value;
  const open = useRef<OpenDraft | null>(null);
  // An open draft stays open: neither an ended session nor another account closes it.
  useEffect(() => {
    if (open.current || !canOpen) return;
    let isShown = true;
    openDraft(draftKey, {
      onText: (content, isAsked) => replace.current(content, isAsked),
      onKey,
    }).then(
      (draft) => {
        if (!isShown) return void draft.close();
        open.current = draft;
        setOpening({ kind: "open", draft });
      },
      (error) => isShown && setOpening(failureOf(error)),
    );
    return () => {
      isShown = false;
    };
  }, [draftKey, canOpen, isReader, attempt]);
  useEffect(() => () => void open.current?.close(), []);
  if (opening.kind === "open")
    return (
      <WritingRoom
        draft={opening.draft}
        onReplace={(take) => {
          replace.current = take;
        }}
      />
    );
  if (!canOpen) return <Welcome />;
  if (opening.kind === "sign-in") return <SignInAgain reason={WORDS.openDraft} />;
  if (opening.kind === "failed")
    return (
      <div class="studio-empty" role="alert">
        <p>{opening.sentence}</p>
        {!opening.isGone && (
          <button type="button" onClick={() => setAttempt(attempt + 1)}>
            {WORDS.tryAgain}
          </button>
        )}
        <p>
          <a href="#/">{WORDS.allDrafts}</a>
        </p>
      </div>
    );
  return (
    <p class="studio-wait" role="status">
      {WORDS.openingDraft}
    </p>
  );
}

function failureOf(error: unknown): Opening {
  if (error instanceof SessionNeeded) return { kind: "sign-in" };
  const isGone = error instanceof NoSuchDraft;
  const sentence = isGone
    ? WORDS.draftIsntAccountMay
    : WORDS.draftCouldntOpened(explain(error).sentence);
  return { kind: "failed", sentence, isGone };
}
