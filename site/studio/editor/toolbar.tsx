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
import { type Drawn, Icon } from "./icons.tsx";
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
