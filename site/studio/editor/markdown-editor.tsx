/** An editor for Markdown: toolbar, text, preview and counts, and what its owner puts around them. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { fileSize } from "../../page/format.ts";
import { announce, notify } from "../../page/notices.ts";
import { imprint } from "../../page/service.ts";
import { countBytes, countWords, readingMinutes } from "../store/draft-text.ts";
import { WORDS } from "../words.ts";
import { Preview } from "./preview.tsx";
import { UnusablePicture } from "./text/pictures.ts";
import { TextEditor } from "./text/text-editor.ts";
import { Toolbar } from "./text/toolbar.tsx";

interface MarkdownEditorProps {
  /** The current text. The owner changes it with the editor that `onOpen` gives. */
  readonly text: string;
  /** The name of the field for screen readers. */
  readonly label: string;
  /** Whether a heading at the start of the text has a field of its own. */
  readonly hasTitle: boolean;
  /** Whether something else is shown in place of text and preview. */
  readonly isCovered?: boolean;
  /** Shown above the toolbar, and in view with it. */
  readonly bar?: ComponentChildren;
  /** Shown between toolbar and text. */
  readonly notes?: ComponentChildren;
  /** Shown after the counts. */
  readonly foot?: ComponentChildren;
  onOpen?(editor: TextEditor): void;
  onChange(content: string): void;
  onSave?(): void;
}

type Shown = "text" | "preview" | "both";

/** The width above which text and preview are side by side. */
const WIDE = "(min-width: 64rem)";
const HINT = "editor-hint";

export function MarkdownEditor(props: MarkdownEditorProps) {
  const { text, label, hasTitle, isCovered = false, bar, notes, foot } = props;
  const place = useRef<HTMLDivElement>(null);
  const latest = useRef(props);
  latest.current = props;
  const [editor, setEditor] = useState<TextEditor | null>(null);
  const [shown, setShown] = useState<Shown>(() => (matchMedia(WIDE).matches ? "both" : "text"));
  useEffect(() => {
    if (!place.current) return;
    const made = new TextEditor({
      parent: place.current,
      content: text,
      contentLimit: imprint.facts.limits.content_bytes,
      hint: HINT,
      label,
      hasTitle,
      onChange: (content) => latest.current.onChange(content),
      onSave: () => latest.current.onSave?.(),
      onPicture: () => announce(WORDS.pictureAdded),
      onPictureFailure: (error) => {
        const unusable = error instanceof UnusablePicture;
        notify({ kind: "bad", text: unusable ? error.message : WORDS.pictureCouldntAdded });
      },
    });
    setEditor(made);
    latest.current.onOpen?.(made);
    return () => made.destroy();
  }, []);
  return (
    <div class="writing" data-shown={shown}>
      <header class="writing-head">
        {bar}
        <div class="writing-tools" hidden={isCovered}>
          <Toolbar editor={editor} isHidden={shown === "preview"} />
          <ViewSwitch shown={shown} onShow={setShown} />
        </div>
      </header>
      {notes}
      <div class="writing-panes" hidden={isCovered}>
        <section class="writing-text" aria-label={WORDS.text} hidden={shown === "preview"}>
          <div class="text-editor" ref={place} />
        </section>
        <Preview content={text} isShown={shown !== "text"} />
      </div>
      <footer class="writing-foot" hidden={isCovered}>
        <Counts text={text} />
        <p id={HINT} class="hint">
          {WORDS.tabIndentsLeaveEditor}
        </p>
        {foot}
      </footer>
    </div>
  );
}

function ViewSwitch({ shown, onShow }: { shown: Shown; onShow(shown: Shown): void }) {
  const views: readonly { readonly view: Shown; readonly name: string }[] = [
    { view: "text", name: WORDS.text },
    { view: "both", name: WORDS.both },
    { view: "preview", name: WORDS.preview },
  ];
  return (
    <fieldset class="view-switch">
      <legend class="unseen">{WORDS.view}</legend>
      {views.map(({ view, name }) => (
        <button
          type="button"
          class={`view-${view}`}
          aria-pressed={shown === view}
          onClick={() => onShow(view)}
        >
          {name}
        </button>
      ))}
    </fieldset>
  );
}

function Counts({ text }: { text: string }) {
  const limit = imprint.facts.limits.content_bytes;
  const words = countWords(text);
  const bytes = countBytes(text);
  const isTight = bytes > limit * 0.75;
  return (
    <p class="counts">
      {WORDS.wordCount(words)}
      {words > 0 && <span class="reading-time">{WORDS.minRead(readingMinutes(words))}</span>}
      {isTight && (
        <span class={bytes > limit ? "over" : "tight"} role="status">
          {WORDS.sizeOf(fileSize(bytes), fileSize(limit))}
        </span>
      )}
    </p>
  );
}
