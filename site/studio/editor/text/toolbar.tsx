/** The buttons above the text. */

import type { StateCommand } from "@codemirror/state";
import { useRef } from "preact/hooks";
import {
  insertLink,
  toggleBold,
  toggleBullets,
  toggleCode,
  toggleHeading,
  toggleItalic,
  toggleNumbers,
  toggleQuote,
} from "./commands.ts";
import type { TextEditor } from "./text-editor.ts";

const MOD = /Mac|iP(?:hone|ad)/.test(navigator.userAgent) ? "⌘" : "Ctrl+";

interface Tool {
  readonly name: Drawn | "Bold" | "Italic";
  readonly keys: string;
  readonly run: StateCommand;
}

const TOOLS: readonly Tool[] = [
  { name: "Bold", keys: `${MOD}B`, run: toggleBold },
  { name: "Italic", keys: `${MOD}I`, run: toggleItalic },
  { name: "Heading", keys: `${MOD}Alt+2`, run: toggleHeading(2) },
  { name: "Link", keys: `${MOD}K`, run: insertLink },
  { name: "List", keys: `${MOD}Shift+8`, run: toggleBullets },
  { name: "Numbered list", keys: `${MOD}Shift+7`, run: toggleNumbers },
  { name: "Quotation", keys: `${MOD}Shift+9`, run: toggleQuote },
  { name: "Code", keys: `${MOD}E`, run: toggleCode },
];

export function Toolbar({ editor, isHidden }: { editor: TextEditor | null; isHidden: boolean }) {
  const chooser = useRef<HTMLInputElement>(null);
  const use = (run: StateCommand) => {
    if (!editor) return;
    run(editor.view);
    editor.view.focus();
  };
  const choose = async () => {
    const input = chooser.current;
    if (!input) return;
    const files = [...(input.files ?? [])];
    input.value = "";
    await editor?.insertPictures(files);
  };
  return (
    <fieldset class="toolbar" disabled={!editor} hidden={isHidden}>
      <legend class="unseen">Format the text</legend>
      {TOOLS.map(({ name, keys, run }) => (
        <button
          type="button"
          class={`tool tool-${name.toLowerCase().replace(" ", "-")}`}
          aria-label={name}
          title={`${name} (${keys})`}
          onClick={() => use(run)}
        >
          {name === "Bold" || name === "Italic" ? (
            <span aria-hidden="true">{name.charAt(0)}</span>
          ) : (
            <Icon name={name} />
          )}
        </button>
      ))}
      <button
        type="button"
        class="tool"
        aria-label="Picture"
        title="Picture: choose, paste or drop one"
        onClick={() => chooser.current?.click()}
      >
        <Icon name="Picture" />
      </button>
      <input
        ref={chooser}
        type="file"
        accept="image/*"
        multiple
        hidden
        aria-label="Choose pictures"
        onChange={() => void choose()}
      />
    </fieldset>
  );
}

/** The icons of the buttons, drawn with one line each. */
const LINES = {
  Heading: "M6 4v16M18 4v16M6 12h12",
  Link: "M10 14a4 4 0 0 0 6 .4l3-3a4 4 0 0 0-5.7-5.7l-1.6 1.6M14 10a4 4 0 0 0-6-.4l-3 3a4 4 0 0 0 5.7 5.7l1.6-1.6",
  List: "M9 6h11M9 12h11M9 18h11M4.5 6h.01M4.5 12h.01M4.5 18h.01",
  "Numbered list":
    "M10 6h10M10 12h10M10 18h10M4 4.5 5.5 4v5M3.8 15.5a1.4 1.4 0 1 1 2.2 1.1L4 19.5h2.5",
  Quotation: "M5 5v14M10 7h10M10 12h10M10 17h6",
  Code: "m8 7-5 5 5 5M16 7l5 5-5 5",
  Picture: "M4 5h16v14H4zM4 16l4.5-4.5 4 4 3-3L20 17M15 9.2h.01",
} as const;

type Drawn = keyof typeof LINES;

const Icon = ({ name }: { name: Drawn }) => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
    <path d={LINES[name]} />
  </svg>
);
