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
  readonly name: string;
  readonly sign: string;
  readonly keys: string;
  readonly run: StateCommand;
}

const TOOLS: readonly Tool[] = [
  { name: "Bold", sign: "B", keys: `${MOD}B`, run: toggleBold },
  { name: "Italic", sign: "I", keys: `${MOD}I`, run: toggleItalic },
  { name: "Heading", sign: "H", keys: `${MOD}Alt+2`, run: toggleHeading(2) },
  { name: "Link", sign: "↗", keys: `${MOD}K`, run: insertLink },
  { name: "List", sign: "•", keys: `${MOD}Shift+8`, run: toggleBullets },
  { name: "Numbered list", sign: "1.", keys: `${MOD}Shift+7`, run: toggleNumbers },
  { name: "Quotation", sign: "”", keys: `${MOD}Shift+9`, run: toggleQuote },
  { name: "Code", sign: "<>", keys: `${MOD}E`, run: toggleCode },
];

export function Toolbar({ editor }: { editor: TextEditor | null }) {
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
    <fieldset class="toolbar" disabled={!editor}>
      <legend class="unseen">Format the text</legend>
      {TOOLS.map(({ name, sign, keys, run }) => (
        <button
          type="button"
          class={`tool tool-${name.toLowerCase().replace(" ", "-")}`}
          aria-label={name}
          title={`${name} (${keys})`}
          onClick={() => use(run)}
        >
          <span aria-hidden="true">{sign}</span>
        </button>
      ))}
      <button
        type="button"
        class="tool tool-picture"
        title="Picture: choose, paste or drop one"
        onClick={() => chooser.current?.click()}
      >
        Picture
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
