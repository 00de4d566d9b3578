/** The text field: CodeMirror with the parts that a Markdown editor needs. */

import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { EditorState, type Extension } from "@codemirror/state";
import { drawSelection, dropCursor, EditorView, keymap, placeholder } from "@codemirror/view";
import { countBytes } from "../draft-text.ts";
import { altOf, encodePicture, picturesOf } from "../pictures.ts";
import { writingKeys } from "./commands.ts";
import { foldedPictures } from "./folded-pictures.ts";
import { markdown } from "./markdown.ts";

interface TextEditorOptions {
  readonly parent: HTMLElement;
  readonly content: string;
  /** In bytes; pictures must fit in. */
  readonly contentLimit: number;
  readonly hint: string;
  onChange(content: string): void;
  onSave(): void;
  /** A picture that could not be taken. */
  onPictureFailure(error: unknown): void;
  onPicture(): void;
}

/** An editor in the page. */
export class TextEditor {
  readonly view: EditorView;

  constructor(private readonly options: TextEditorOptions) {
    const { parent, content } = options;
    const state = EditorState.create({ doc: content, extensions: this.extensions() });
    this.view = new EditorView({ parent, state });
  }

  /** Replace the text, as when another version is taken. The history goes on: undo brings it back. */
  replace(content: string): void {
    const { state } = this.view;
    if (state.doc.toString() === content) return;
    const at = Math.min(state.selection.main.head, content.length);
    this.view.dispatch({
      changes: { from: 0, to: state.doc.length, insert: content },
      selection: { anchor: at },
    });
  }

  /** Put pictures where the cursor is. */
  async insertPictures(files: readonly File[]): Promise<void> {
    for (const file of files) {
      try {
        const room = this.options.contentLimit - countBytes(this.view.state.doc.toString());
        const source = await encodePicture(file, room);
        this.insertPicture(altOf(file.name), source);
      } catch (error) {
        this.options.onPictureFailure(error);
      }
    }
    this.view.focus();
  }

  destroy(): void {
    this.view.destroy();
  }

  private insertPicture(alt: string, source: string): void {
    const { state } = this.view;
    const { head } = state.selection.main;
    const line = state.doc.lineAt(head);
    const before = line.text.trim() === "" ? "" : "\n\n";
    const at = line.text.trim() === "" ? head : line.to;
    const words = alt || "Describe this picture";
    const insert = `${before}![${words}](${source})\n`;
    const start = at + before.length + 2;
    this.view.dispatch({
      changes: { from: at, insert },
      // The words are selected: what is typed next describes the picture.
      selection: { anchor: start, head: start + words.length },
      scrollIntoView: true,
      userEvent: "input.paste",
    });
    this.options.onPicture();
  }

  private extensions(): Extension {
    const { options } = this;
    const take = (data: DataTransfer | null): boolean => {
      const files = picturesOf(data);
      if (files.length > 0) void this.insertPictures(files);
      return files.length > 0;
    };
    const nonce = document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content;
    const save = () => {
      options.onSave();
      return true;
    };
    return [
      nonce ? EditorView.cspNonce.of(nonce) : [],
      history(),
      drawSelection(),
      dropCursor(),
      markdown,
      foldedPictures,
      EditorView.lineWrapping,
      EditorState.allowMultipleSelections.of(true),
      placeholder("# Title\n\nBegin to write."),
      EditorView.contentAttributes.of({
        "aria-label": "Text of the draft, in Markdown",
        "aria-describedby": options.hint,
        spellcheck: "true",
        autocorrect: "on",
        autocapitalize: "sentences",
      }),
      keymap.of([
        { key: "Mod-s", run: save, preventDefault: true },
        ...writingKeys,
        ...historyKeymap,
        ...defaultKeymap,
      ]),
      EditorView.domEventHandlers({
        paste: ({ clipboardData }) => take(clipboardData),
        drop: (event, view) => {
          const at = view.posAtCoords({ x: event.clientX, y: event.clientY });
          if (picturesOf(event.dataTransfer).length && at !== null)
            view.dispatch({ selection: { anchor: at } });
          return take(event.dataTransfer);
        },
      }),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) options.onChange(update.state.doc.toString());
      }),
    ];
  }
}
