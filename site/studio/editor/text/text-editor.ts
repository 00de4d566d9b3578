/** The text field: CodeMirror with the parts that a Markdown editor needs. */

import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { EditorState, type Extension } from "@codemirror/state";
import { drawSelection, dropCursor, EditorView, keymap, placeholder } from "@codemirror/view";
import { countBytes } from "../../store/draft-text.ts";
import { WORDS } from "../../words.ts";
import { writingKeys } from "./commands.ts";
import { foldedPictures } from "./folded-pictures.ts";
import { markdown } from "./markdown.ts";
import { openingLine } from "./opening-line.ts";
import { insertBelow, insertSelected, isUntouched } from "./picture-insertion.ts";
import { altOf, encodePicture, picturesOf, UnusablePicture } from "./pictures.ts";

interface TextEditorOptions {
  readonly parent: HTMLElement;
  readonly content: string;
  /** In bytes; pictures must fit in. */
  readonly contentLimit: number;
  readonly hint: string;
  onChange(content: string): void;
  onSave(): void;
  /** A picture could not be used. */
  onPictureFailure(error: unknown): void;
  /** A picture was inserted; its description is selected unless the author was typing. */
  onPicture(isSelected: boolean): void;
}

const LEFT = WORDS.draftClosedBeforePicture;

/** An editor in the page. */
export class TextEditor {
  readonly view: EditorView;
  private isDestroyed = false;

  constructor(private readonly options: TextEditorOptions) {
    const { parent, content } = options;
    const state = EditorState.create({ doc: content, extensions: this.extensions() });
    this.view = new EditorView({ parent, state });
  }

  /**
   * Replace the text, for example with another version. The history is kept: undo brings it back.
   */
  replace(content: string): void {
    const { state } = this.view;
    if (state.doc.toString() === content) return;
    const at = Math.min(state.selection.main.head, content.length);
    this.view.dispatch({
      changes: { from: 0, to: state.doc.length, insert: content },
      selection: { anchor: at },
    });
  }

  /** Insert pictures at the cursor. An author who keeps typing meanwhile is not disturbed. */
  async insertPictures(files: readonly File[]): Promise<void> {
    let seen = this.view.state;
    for (const file of files) {
      try {
        const room = this.options.contentLimit - countBytes(this.view.state.doc.toString());
        const source = await encodePicture(file, room);
        if (this.isDestroyed) throw new UnusablePicture(LEFT);
        const { state } = this.view;
        const isSelected = isUntouched(seen, state);
        const insert = isSelected ? insertSelected : insertBelow;
        this.view.dispatch(insert(state, altOf(file.name), source));
        if (isSelected) seen = this.view.state;
        this.options.onPicture(isSelected);
      } catch (error) {
        this.options.onPictureFailure(error);
        if (this.isDestroyed) return;
      }
    }
    if (isUntouched(seen, this.view.state)) this.view.focus();
  }

  destroy(): void {
    this.isDestroyed = true;
    this.view.destroy();
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
      openingLine,
      EditorView.lineWrapping,
      EditorState.allowMultipleSelections.of(true),
      placeholder(WORDS.titleBeginWrite),
      EditorView.contentAttributes.of({
        "aria-label": WORDS.textDraftMarkdown,
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
