/** The buttons above the text. */

import type { StateCommand } from "@codemirror/state";
import { useRef } from "preact/hooks";
import { WORDS } from "../../words.ts";
import {
  insertFootnote,
  insertLink,
  insertTable,
  toggleBold,
  toggleBullets,
  toggleCode,
  toggleHeading,
  toggleItalic,
  toggleNumbers,
  toggleQuote,
} from "./commands.ts";
import { endOpeningHere } from "./opening-line.ts";
import type { TextEditor } from "./text-editor.ts";

const MOD = /Mac|iP(?:hone|ad)/.test(navigator.userAgent) ? "⌘" : "Ctrl+";

interface Tool {
  readonly tool: Drawn | "bold" | "italic";
  readonly keys?: string;
  readonly run: StateCommand;
}

const TOOLS: readonly Tool[] = [
  { tool: "bold", keys: `${MOD}B`, run: toggleBold },
  { tool: "italic", keys: `${MOD}I`, run: toggleItalic },
  { tool: "heading", keys: `${MOD}Alt+2`, run: toggleHeading(2) },
  { tool: "link", keys: `${MOD}K`, run: insertLink },
  { tool: "list", keys: `${MOD}Shift+8`, run: toggleBullets },
  { tool: "numberedList", keys: `${MOD}Shift+7`, run: toggleNumbers },
  { tool: "quotation", keys: `${MOD}Shift+9`, run: toggleQuote },
  { tool: "code", keys: `${MOD}E`, run: toggleCode },
  { tool: "freeUntilHere", keys: `${MOD}Shift+Enter`, run: endOpeningHere },
  { tool: "table", run: insertTable(WORDS.column) },
  { tool: "footnote", run: insertFootnote },
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
      <legend class="unseen">{WORDS.formatText}</legend>
      {TOOLS.map(({ tool, keys, run }) => (
        <button
          type="button"
          class={`tool tool-${tool}`}
          aria-label={WORDS[tool]}
          title={keys ? `${WORDS[tool]} (${keys})` : WORDS[tool]}
          onClick={() => use(run)}
        >
          {tool === "bold" || tool === "italic" ? (
            <span aria-hidden="true">{WORDS[tool].charAt(0)}</span>
          ) : (
            <Icon name={tool} />
          )}
        </button>
      ))}
      <button
        type="button"
        class="tool"
        aria-label={WORDS.picture}
        title={WORDS.pictureChoosePasteOr}
        onClick={() => editor?.describePicture() || chooser.current?.click()}
      >
        <Icon name="picture" />
      </button>
      <input
        ref={chooser}
        type="file"
        accept="image/*"
        multiple
        hidden
        aria-label={WORDS.choosePictures}
        onChange={() => void choose()}
      />
    </fieldset>
  );
}

/** The icons of the buttons, drawn with one line each. */
const LINES = {
  heading: "M6 4v16M18 4v16M6 12h12",
  link: "M10 14a4 4 0 0 0 6 .4l3-3a4 4 0 0 0-5.7-5.7l-1.6 1.6M14 10a4 4 0 0 0-6-.4l-3 3a4 4 0 0 0 5.7 5.7l1.6-1.6",
  list: "M9 6h11M9 12h11M9 18h11M4.5 6h.01M4.5 12h.01M4.5 18h.01",
  numberedList:
    "M10 6h10M10 12h10M10 18h10M4 4.5 5.5 4v5M3.8 15.5a1.4 1.4 0 1 1 2.2 1.1L4 19.5h2.5",
  quotation: "M5 5v14M10 7h10M10 12h10M10 17h6",
  code: "m8 7-5 5 5 5M16 7l5 5-5 5",
  freeUntilHere:
    "M4 5h16M4 9h10M3 14h3M8.5 14h3M14 14h3M19.5 14h1.5M12 21v-3M9.5 19.5 12 17l2.5 2.5",
  table: "M4 5h16v14H4zM4 10h16M4 14.5h16M12 10v9",
  footnote: "M4 18 8.5 7 13 18M5.5 14.5h6M17 6l2-1.5V12M17 12h4",
  picture: "M4 5h16v14H4zM4 16l4.5-4.5 4 4 3-3L20 17M15 9.2h.01",
} as const;

type Drawn = keyof typeof LINES;

const Icon = ({ name }: { name: Drawn }) => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
    <path d={LINES[name]} />
  </svg>
);
