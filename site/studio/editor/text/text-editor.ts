/** The text field: CodeMirror with the parts that a Markdown editor needs. */

import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { EditorState, type Extension } from "@codemirror/state";
import { drawSelection, dropCursor, EditorView, keymap, placeholder } from "@codemirror/view";
import { h } from "../../../page/dom.ts";
import {
  countBytes,
  joinTitle,
  splitTitle,
  type TitledText,
  titleLine,
} from "../../store/draft-text.ts";
import { WORDS } from "../../words.ts";
import { writingKeys } from "./commands.ts";
import { foldedPictures } from "./folded-pictures.ts";
import { markdown } from "./markdown.ts";
import { openingLine } from "./opening-line.ts";
import { pastedTitle, pasteText, plainText, richPaste, titleChange } from "./paste.ts";
import { askForWords } from "./picture-dialog.ts";
import {
  describe,
  insertAtCursor,
  insertBelow,
  isUntouched,
  pictureAt,
  pictureOf,
} from "./picture-insertion.ts";
import { altOf, encodePicture, picturesOf, UnusablePicture } from "./pictures.ts";
import { visibleCaret } from "./visible-caret.ts";

interface TextEditorOptions {
  readonly parent: HTMLElement;
  readonly content: string;
  /** The maximum size of the text in bytes, including its pictures. */
  readonly contentLimit: number;
  readonly hint: string;
  /** The name of the field for screen readers. */
  readonly label: string;
  /** Whether a heading at the start of the text has a field of its own. */
  readonly hasTitle: boolean;
  onChange(content: string): void;
  onSave(): void;
  /** A picture could not be used. */
  onPictureFailure(error: unknown): void;
  /** A picture was inserted while the author was typing. */
  onPicture(): void;
}

const LEFT = WORDS.draftClosedBeforePicture;

/**
 * An editor in the page: the title of a text in a field, if it has one, and the rest of it below. To
 * its owner it is one text.
 */
export class TextEditor {
  readonly view: EditorView;
  private readonly title: HTMLTextAreaElement;
  private gap: string;
  private isDestroyed = false;

  constructor(private readonly options: TextEditorOptions) {
    const { parent, content, hasTitle } = options;
    const { title, gap, body } = this.split(content);
    this.gap = gap;
    this.title = h("textarea", {
      class: "text-title",
      rows: 1,
      "aria-label": WORDS.title,
      placeholder: WORDS.title,
      spellcheck: "true",
      enterkeyhint: "next",
      oninput: () => this.change(),
      onkeydown: (event) => this.titleKey(event),
      onpaste: (event) => this.titlePaste(event),
    });
    this.title.value = title;
    if (hasTitle) parent.append(this.title);
    const state = EditorState.create({ doc: body, extensions: this.extensions() });
    this.view = new EditorView({ parent, state });
  }

  /** The whole text: the title and the body. */
  get content(): string {
    const title = titleLine(this.title.value);
    return joinTitle({ title, gap: this.gap, body: this.view.state.doc.toString() });
  }

  /** Put the cursor where writing begins. */
  focus(): void {
    if (this.content === "") this.title.focus();
    else this.view.focus();
  }

  /**
   * Replace the text, for example with another version. The history is kept: undo brings it back.
   */
  replace(content: string): void {
    if (this.content === content) return;
    const { state } = this.view;
    const { title, gap, body } = this.split(content);
    this.title.value = title;
    this.gap = gap;
    const at = Math.min(state.selection.main.head, body.length);
    this.view.dispatch({
      changes: { from: 0, to: state.doc.length, insert: body },
      selection: { anchor: at },
    });
    this.change();
  }

  /** Insert pictures at the cursor. An author who keeps typing meanwhile is not disturbed. */
  async insertPictures(files: readonly File[]): Promise<void> {
    let seen = this.view.state;
    for (const file of files) {
      try {
        const room = this.options.contentLimit - countBytes(this.content);
        const source = await encodePicture(file, room);
        if (this.isDestroyed) throw new UnusablePicture(LEFT);
        const { state } = this.view;
        const isWaiting = isUntouched(seen, state);
        const insert = isWaiting ? insertAtCursor : insertBelow;
        this.view.dispatch(insert(state, altOf(file.name), source));
        if (isWaiting) {
          await this.askAbout(source);
          seen = this.view.state;
        } else this.options.onPicture();
      } catch (error) {
        this.options.onPictureFailure(error);
        if (this.isDestroyed) return;
      }
    }
    if (isUntouched(seen, this.view.state)) this.view.focus();
  }

  /** Ask for the words of the picture at the cursor; false if there is none. */
  describePicture(): boolean {
    const found = pictureAt(this.view.state, this.view.state.selection.main.head);
    if (found) void this.askAbout(found.source).then(() => this.view.focus());
    return found !== null;
  }

  destroy(): void {
    this.isDestroyed = true;
    this.view.destroy();
  }

  private split(content: string): TitledText {
    return this.options.hasTitle ? splitTitle(content) : { title: "", gap: "", body: content };
  }

  private change(): void {
    this.options.onChange(this.content);
  }

  private titleKey(event: KeyboardEvent): void {
    const isSave = event.key === "s" && (event.ctrlKey || event.metaKey);
    if (event.isComposing || !(isSave || event.key === "Enter")) return;
    event.preventDefault();
    if (isSave) this.options.onSave();
    else {
      this.view.dispatch({ selection: { anchor: 0 }, scrollIntoView: true });
      this.view.focus();
    }
  }

  /** Several lines pasted into the title of an empty text become the text. */
  private titlePaste(event: ClipboardEvent): void {
    const data = event.clipboardData;
    const plain = plainText(data);
    if (!data || this.content !== "" || !plain.trim().includes("\n")) return;
    event.preventDefault();
    this.view.focus();
    pasteText(this.view, data);
  }

  private async askAbout(source: string): Promise<void> {
    const before = pictureOf(this.view.state, source);
    const words = before && (await askForWords(source, before));
    const found = pictureOf(this.view.state, source);
    if (words && found && !this.isDestroyed) this.view.dispatch(describe(found, words));
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
      visibleCaret,
      EditorView.lineWrapping,
      EditorState.allowMultipleSelections.of(true),
      placeholder(WORDS.beginWrite),
      EditorView.contentAttributes.of({
        "aria-label": options.label,
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
        // Word processors add a picture of the text to the text.
        paste: ({ clipboardData: data }) =>
          !(data?.getData("text/html") && data.getData("text/plain").trim()) && take(data),
        drop: (event, view) => {
          const at = view.posAtCoords({ x: event.clientX, y: event.clientY });
          if (picturesOf(event.dataTransfer).length && at !== null)
            view.dispatch({ selection: { anchor: at } });
          return take(event.dataTransfer);
        },
        click: ({ target }, view) => {
          const picture = (target as Element).closest(".folded-picture");
          if (!picture) return false;
          view.dispatch({ selection: { anchor: view.posAtDOM(picture) } });
          return this.describePicture();
        },
      }),
      richPaste,
      options.hasTitle ? pastedTitle(() => this.title.value.trim() === "") : [],
      EditorView.updateListener.of(({ docChanged, transactions }) => {
        const titles = transactions.flatMap(({ effects }) =>
          effects.filter((effect) => effect.is(titleChange)),
        );
        // A title that was typed since stays.
        for (const { value } of titles)
          if (this.title.value === value.from) this.title.value = value.to;
        if (docChanged || titles.length > 0) this.change();
      }),
    ];
  }
}
