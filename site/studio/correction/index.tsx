/** The correction of a published post: its newest text, what changes, a note, one signature. */

import type { Post } from "imprint-press";
import { useEffect, useReducer, useRef, useState } from "preact/hooks";
import { imprint } from "../../page/service.ts";
import { type Account, account, explain } from "../../wallet/index.ts";
import { Differences } from "../editor/differences.tsx";
import { MarkdownEditor } from "../editor/markdown-editor.tsx";
import { joinTitle } from "../store/draft-text.ts";
import { WORDS as STUDIO_WORDS } from "../words.ts";
import {
  advance,
  canSign,
  correctable,
  isNote,
  NOTE_LENGTH,
  openCorrection,
} from "./correction.ts";
import { WORDS } from "./words.ts";

/** Milliseconds after which a page that is not loaded yet is shown from the cache. */
const REFRESH_MS = 3000;

interface Opened {
  readonly post: Post;
  readonly content: string;
}

export function CorrectView({ postId }: { postId: string }) {
  const [opened, setOpened] = useState<Opened | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  const by = account.value;
  const load = () => {
    setFailure(null);
    Promise.all([imprint.showPost(postId), imprint.readPostContent(postId)]).then(
      ([post, { content }]) => setOpened({ post, content }),
      (error) => setFailure(explain(error).sentence),
    );
  };
  useEffect(load, []);
  if (failure)
    return (
      <div class="studio-note" role="alert">
        <p>{failure}</p>
        <button type="button" onClick={load}>
          {STUDIO_WORDS.tryAgain}
        </button>
      </div>
    );
  if (!opened || !by) return <p role="status">{WORDS.opening}</p>;
  if (opened.post.author !== by.address.toLowerCase())
    return (
      <p class="studio-note" role="alert">
        {WORDS.notYours}
      </p>
    );
  return <Editor by={by} {...opened} />;
}

function Editor({ by, post, content }: Opened & { by: Account }) {
  const [titled] = useState(() => correctable(content, post.title));
  const [state, send] = useReducer(advance, titled.body, openCorrection);
  const done = useRef<HTMLAnchorElement>(null);
  const isSigning = state.state === "signing";
  const sign = async (event: Event) => {
    event.preventDefault();
    if (!canSign(state)) return;
    send({ type: "sign" });
    const text = joinTitle({ ...titled, body: state.text });
    try {
      await imprint.revisePost(by.wallet, post.id, text, { note: state.note, cid: post.cid });
      await refreshPage(post);
      send({ type: "signed" });
    } catch (error) {
      send({ type: "failed", sentence: explain(error).sentence });
    }
  };
  useEffect(() => {
    if (state.state === "done") done.current?.focus();
  }, [state.state]);
  const length = [...state.note].length;
  return (
    <form class="correct" onSubmit={(event) => void sign(event)} noValidate>
      <h1>{WORDS.heading(post.title || STUDIO_WORDS.untitled)}</h1>
      <p>{WORDS.purpose}</p>
      <div inert={isSigning}>
        <MarkdownEditor
          text={state.text}
          label={WORDS.textLabel}
          hasTitle={false}
          onChange={(text) => send({ type: "typed", text })}
        />
      </div>
      <h2>{WORDS.changes}</h2>
      {state.text === state.shown ? (
        <p>{WORDS.nothingChanged}</p>
      ) : (
        <Differences
          label={STUDIO_WORDS.bothVersions}
          left={state.text}
          right={state.shown}
          leftName={WORDS.after}
          rightName={WORDS.before}
        />
      )}
      <div class="publish-field">
        <div class="publish-label">
          <label for="correct-note">{WORDS.noteLabel}</label>
          <span class="publish-count" data-over={length > NOTE_LENGTH ? "" : undefined}>
            {STUDIO_WORDS.countOf(length, NOTE_LENGTH)}
          </span>
        </div>
        <input
          id="correct-note"
          type="text"
          value={state.note}
          readOnly={isSigning}
          aria-invalid={!isNote(state.note)}
          aria-describedby="correct-note-hint correct-note-problem"
          onInput={({ currentTarget }) => send({ type: "noted", note: currentTarget.value })}
        />
        <p id="correct-note-hint" class="publish-hint">
          {WORDS.noteHint}
        </p>
        <p id="correct-note-problem" class="publish-problem" aria-live="polite">
          {isNote(state.note) ? null : WORDS.noteTooLong}
        </p>
      </div>
      <div class="profile-actions">
        <button type="submit" class="primary" disabled={!canSign(state)}>
          {isSigning ? WORDS.signing : WORDS.sign}
        </button>
        {state.state === "done" && (
          <p role="status">
            {WORDS.published}{" "}
            <a ref={done} href={post.links.page}>
              {WORDS.seePost}
            </a>
          </p>
        )}
      </div>
      {state.failure && (
        <p class="publish-problem" role="alert">
          {state.failure}
        </p>
      )}
    </form>
  );
}

/** Replace the page of a post in the cache of this browser, where the old text may still be. */
async function refreshPage({ links }: Post): Promise<void> {
  const signal = AbortSignal.timeout(REFRESH_MS);
  await fetch(new URL(links.page).pathname, { cache: "reload", signal }).catch(() => undefined);
}
