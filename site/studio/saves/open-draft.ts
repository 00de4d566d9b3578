/** A draft that is open in this tab: its text, its copy in this browser, and its saves. */

import { type ReadonlySignal, signal } from "@preact/signals-core";
import type { SaveOptions } from "imprint-press";
import { StorageFull } from "../../page/database.ts";
import { titleOf } from "../store/draft-text.ts";
import {
  type CopyKey,
  type CopyStore,
  isLocalKey,
  type LocalCopy,
  newLocalKey,
  type SentWrite,
} from "../store/local-copies.ts";
import { WORDS } from "../words.ts";
import { judge, type SaveContext, type SaveState, type Theirs } from "./save-state.ts";

/** A version of a draft at the service. */
export interface Version {
  readonly cid: string;
  readonly groupId: string;
  readonly savedAt: string;
}

/** The service's version that replaced the one that this tab started from. */
export type Head =
  | { readonly kind: "draft"; readonly version: Version }
  | { readonly kind: "gone"; readonly postId: string | null };

/** What an open draft needs from the service and the wallet. */
export interface DraftService {
  /**
   * Save with the writing session if there is one, otherwise with the wallet, which prompts its
   * owner.
   */
  save(content: string, base: string | null, options: SaveOptions): Promise<Version>;
  /** Resend a write whose response was lost. */
  resend(sent: SentWrite, wait: NonNullable<SaveOptions["wait"]>): Promise<Version>;
  /** The current version of a draft. Needs a reader's session. */
  head(groupId: string, base: string): Promise<Head>;
  read(cid: string): Promise<string>;
  /** The version created with this text, if there is one. */
  findCreated(content: string, since: number): Promise<Version | null>;
  /** Whether a save would need no prompt. */
  canSignSilently(): boolean;
  sessionEnded(): void;
  explain(error: unknown): string;
  isRefusedForSession(error: unknown): boolean;
  readonly contentLimit: number;
}

/** Timers, so that tests need not wait. */
export interface Timers {
  set(run: () => void, seconds: number): unknown;
  clear(timer: unknown): void;
  now(): number;
}

/** The data of an opened draft: a copy in this browser, or the service's version. */
export interface OpenedDraft extends CopyKey, Pick<LocalCopy, "base" | "content" | "isSaved"> {
  readonly sent?: SentWrite | undefined;
  readonly note?: string | undefined;
}

/** Callbacks of the views around an open draft. */
export interface DraftEvents {
  /** The text was replaced by another version; `isAsked` is false if there was nothing to lose. */
  onText(content: string, isAsked: boolean): void;
  /** The service has this text as that version; the author may have typed more meanwhile. */
  onSaved(version: Version, content: string): void;
  /** The draft has a new key: after its first save, or because it continues as a new draft. */
  onKey(key: string): void;
  onCopies(): void;
}

/** The delay after a change before local copies are written, in seconds. */
const COPY_DELAY = 0.4;
/** The delay after the last change before an automatic save, in seconds. */
const SAVE_DELAY = 3;
/** The delay before the service's version is checked again after a failure, in seconds. */
const LOOK_DELAY = 5;

const SIGN_IN: SaveState = {
  kind: "refused",
  sentence: WORDS.signAgainSeeWhats,
  action: "sign-in",
};

export class OpenDraft {
  readonly account: string;
  readonly tab: string;
  key: string;
  base: string | null;
  private readonly content = signal("");
  private readonly state = signal<SaveState>({ kind: "saved" });
  private readonly copyFailure = signal<string | null>(null);
  private readonly keptText = signal("");
  private savedText: string | null;
  private sent: SentWrite | null;
  private readonly note: string | undefined;
  private copyTimer: unknown = null;
  private saveTimer: unknown = null;
  private running: Promise<void> | null = null;
  /** Ends the wait for a service that is busy or away; true sends the save again. */
  private endWait: ((isSentAgain: boolean) => void) | null = null;
  private isClosed = false;

  constructor(
    opened: OpenedDraft,
    private readonly copies: CopyStore,
    private readonly service: DraftService,
    private readonly timers: Timers,
    private readonly events: DraftEvents,
  ) {
    this.account = opened.account;
    this.tab = opened.tab;
    this.key = opened.key;
    this.base = opened.base;
    this.sent = opened.sent ?? null;
    this.note = opened.note;
    this.content.value = opened.content;
    this.savedText = opened.isSaved ? opened.content : null;
    this.keptText.value = opened.content;
    this.state.value = { kind: opened.isSaved ? "saved" : "changed" };
  }

  get text(): ReadonlySignal<string> {
    return this.content;
  }

  get saving(): ReadonlySignal<SaveState> {
    return this.state;
  }

  /** Why the latest change is not stored in this browser, or null. */
  get keeping(): ReadonlySignal<string | null> {
    return this.copyFailure;
  }

  /** Whether the service or this browser has the current text. */
  get isKept(): boolean {
    return this.content.value === this.keptText.value || !this.isUnsaved;
  }

  /**
   * Whether this browser has a copy of unsaved changes; slightly behind while the author types.
   */
  get hasCopy(): boolean {
    const isSaved = this.keptText.value === this.savedText;
    return this.copyFailure.value === null && !isSaved;
  }

  get isUnsaved(): boolean {
    return this.content.value !== this.savedText;
  }

  /** Whether its view was closed; a save may still be running. */
  get isLeft(): boolean {
    return this.isClosed;
  }

  /** The author has typed. */
  change(content: string): void {
    if (content === this.content.value) return;
    this.content.value = content;
    const { kind } = this.state.value;
    if (kind === "saved" || kind === "changed" || kind === "refused") this.settleState();
    this.copyTimer ??= this.timers.set(() => void this.keep(), COPY_DELAY);
    this.saveSoon(SAVE_DELAY);
  }

  /** Write the copy of this browser now. */
  async keep(): Promise<void> {
    this.timers.clear(this.copyTimer);
    this.copyTimer = null;
    const copy = this.copy();
    try {
      if (!(await this.copies.put(copy, this.expectedText))) return;
      this.keptText.value = copy.content;
      this.copyFailure.value = null;
    } catch (error) {
      this.copyFailure.value =
        error instanceof StorageFull ? WORDS.browserNoSpaceCopy : WORDS.browserCantKeepCopy;
    }
    this.events.onCopies();
  }

  /**
   * Save. With `isAsked` the wallet may prompt; otherwise only a writing session signs.
   *
   * Resolves when the save is done, or is waiting for the service.
   */
  async save({ isAsked }: { isAsked: boolean }): Promise<void> {
    this.timers.clear(this.saveTimer);
    this.saveTimer = null;
    const isSentAgain = this.endWait !== null;
    this.endWait?.(true);
    if (this.running) {
      await this.doneOrWaiting();
      if (isAsked && !isSentAgain && !this.running) await this.save({ isAsked });
      return;
    }
    if (!this.maySave(isAsked)) return;
    this.running = this.saveOnce(isAsked).finally(() => {
      this.running = null;
      if (this.is("changed")) this.saveSoon(SAVE_DELAY);
      else if (this.is("waiting")) this.saveSoon(LOOK_DELAY);
    });
    await this.doneOrWaiting();
  }

  /** Check whether the service has another version, and take or show it. */
  async look(): Promise<void> {
    if (this.base === null || this.running || this.isClosed) return;
    const { base, sent } = this;
    // A save or a choice of the author came in between, or the draft was closed.
    const isOld = () =>
      this.base !== base || this.sent !== sent || this.running !== null || this.isClosed;
    const head = await this.service.head(this.key, base);
    if (!isOld()) await this.meet(head, sent, isOld);
  }

  /** Save my text as the next version after theirs. */
  async keepMine(): Promise<void> {
    if (this.state.value.kind !== "conflict") return;
    this.base = this.state.value.theirs.cid;
    this.savedText = null;
    this.state.value = { kind: "changed" };
    await this.keep();
    await this.save({ isAsked: true });
  }

  /** Continue with their text; mine becomes a separate draft, whose key is returned. */
  async takeTheirs(note: string): Promise<string | null> {
    if (this.state.value.kind !== "conflict") return null;
    const { theirs } = this.state.value;
    const kept = await this.setAside(note);
    // Before it is shown: closing the page now must not ask a second time.
    await this.copies.put({
      ...this.copy(),
      base: theirs.cid,
      content: theirs.content,
      isSaved: true,
    });
    await this.take(theirs, true);
    return kept;
  }

  /** The draft is gone: continue with its text as a new one. */
  async becomeNew(): Promise<void> {
    const before = this.copy();
    this.key = newLocalKey();
    this.base = null;
    this.savedText = null;
    this.sent = null;
    this.state.value = { kind: "changed" };
    await this.keep();
    // Without room for the new copy, the earlier one is all there is.
    if (this.copyFailure.value === null) await this.copies.remove(before, this.expectedText);
    if (!this.isClosed) this.events.onKey(this.key);
    this.events.onCopies();
  }

  /** The network or the page is back: send waiting saves. */
  wake(): void {
    if (this.is("waiting")) void this.save({ isAsked: false });
  }

  /** Wait until no save is being signed or sent, and this browser has the text. */
  async settle(): Promise<void> {
    await this.doneOrWaiting();
    if (!this.isKept) await this.keep();
  }

  /** The view is closed. A running save continues, and changes nothing that is shown. */
  async close(): Promise<void> {
    this.timers.clear(this.saveTimer);
    // Its writing begins before anything else, so that whoever opens the draft next finds this
    // copy.
    const keeping = this.copyTimer === null ? null : this.keep();
    this.isClosed = true;
    this.endWait?.(false);
    await keeping;
  }

  private maySave(isAsked: boolean): boolean {
    const { kind } = this.state.value;
    if (kind === "conflict" || kind === "gone") return false;
    if (!this.isUnsaved && !this.sent) return false;
    if (isAsked) return true;
    // A waiting save is sent as it was signed, or looked up.
    return this.service.canSignSilently() || this.sent !== null;
  }

  private async saveOnce(isAsked: boolean): Promise<void> {
    const { sent } = this;
    if (sent) {
      this.state.value = { kind: "sending" };
      await this.attempt(false, sent.content, () => this.service.resend(sent, this.wait));
      // Another one may be signed once the outcome of this one is known.
      if (this.sent || !this.is("changed", "saved")) return;
    }
    if (!this.isUnsaved) {
      this.state.value = { kind: "saved" };
      return;
    }
    if (!isAsked && !this.service.canSignSilently()) {
      this.state.value = { kind: "changed" };
      return;
    }
    const content = this.content.value;
    const { base } = this;
    const onSigned = async (signed: SentWrite["signed"]) => {
      this.sent = { signed, content, base, sentAt: this.timers.now() };
      await this.keep();
      this.state.value = { kind: "sending" };
    };
    this.state.value = { kind: "signing" };
    await this.attempt(isAsked, content, () =>
      this.service.save(content, base, { onSigned, wait: this.wait }),
    );
  }

  private async attempt(
    isAsked: boolean,
    content: string,
    save: () => Promise<Version>,
  ): Promise<void> {
    try {
      await this.saved(await save(), content);
    } catch (error) {
      await this.fail(error, isAsked);
    }
  }

  /** The service is busy or away: say so, and wait. A closed draft does not wait. */
  private readonly wait = async (error: unknown, seconds: number): Promise<boolean> => {
    if (this.isClosed) return false;
    this.state.value = { kind: "waiting", sentence: this.sentenceOf(error) };
    return new Promise((resolve) => {
      this.endWait = (isSentAgain) => {
        this.endWait = null;
        this.timers.clear(this.saveTimer);
        if (isSentAgain) this.state.value = { kind: "sending" };
        resolve(isSentAgain);
      };
      this.saveTimer = this.timers.set(() => this.endWait?.(true), seconds);
    });
  };

  private async doneOrWaiting(): Promise<void> {
    let stop = () => {};
    const waiting = new Promise<void>((resolve) => {
      stop = this.state.subscribe(({ kind }) => kind === "waiting" && resolve());
    });
    await Promise.race([this.running, waiting]);
    stop();
  }

  /** Compare the service's version with mine, unless this check is stale by then. */
  private async meet(
    head: Head,
    sent: SentWrite | null,
    isOld: () => boolean = () => false,
  ): Promise<void> {
    if (head.kind === "gone") {
      this.state.value = head;
      return;
    }
    const { version } = head;
    if (version.cid === this.base) return;
    const content = await this.service.read(version.cid);
    if (isOld()) return;
    if (sent && content === sent.content) return this.saved(version, content);
    const theirs = { cid: version.cid, content, savedAt: version.savedAt };
    if (!this.isUnsaved || content === this.content.value) await this.take(theirs, false);
    else {
      this.sent = null;
      this.state.value = { kind: "conflict", theirs };
    }
  }

  private async take(theirs: Theirs, isAsked: boolean): Promise<void> {
    this.base = theirs.cid;
    this.savedText = theirs.content;
    this.sent = null;
    const isOther = this.content.value !== theirs.content;
    this.content.value = theirs.content;
    this.state.value = { kind: "saved" };
    if (isOther && !this.isClosed) this.events.onText(theirs.content, isAsked);
    await this.keep();
  }

  private async saved(version: Version, content: string): Promise<void> {
    const before = this.copy();
    this.base = version.cid;
    this.key = version.groupId;
    this.savedText = content;
    this.sent = null;
    await this.keep();
    // The copy under the local key of a new draft is no longer needed.
    if (before.key !== this.key && this.copyFailure.value === null) {
      await this.copies.remove(before, this.expectedText).catch(() => undefined);
      this.events.onCopies();
    }
    if (before.key !== this.key && !this.isClosed) this.events.onKey(this.key);
    this.settleState();
    this.events.onSaved(version, content);
  }

  private async fail(error: unknown, isAsked: boolean): Promise<void> {
    if (this.service.isRefusedForSession(error)) {
      this.state.value = SIGN_IN;
      return;
    }
    const verdict = judge(error, this.context());
    switch (verdict.kind) {
      case "again":
        this.state.value = { kind: "waiting", sentence: verdict.sentence };
        return;
      case "stale": {
        this.sent = null;
        const sentence = WORDS.signatureCameTooLate;
        this.state.value = isAsked
          ? { kind: "refused", sentence, action: "save" }
          : { kind: "changed" };
        return;
      }
      case "unconfirmed":
        return this.lookFor(this.sent, false);
      case "look":
        return this.lookFor(this.sent, true);
      case "session-ended":
        this.sent = null;
        this.service.sessionEnded();
        this.state.value = { kind: "refused", sentence: verdict.sentence, action: "session" };
        return this.keep();
      case "refused":
        this.sent = null;
        this.state.value = verdict;
        return this.keep();
    }
  }

  /** Find out the outcome of a write, and whether the draft was changed elsewhere. */
  private async lookFor(sent: SentWrite | null, isRefused: boolean): Promise<void> {
    try {
      if (sent?.base) {
        const head = await this.service.head(this.key, sent.base);
        if (head.kind === "gone" || head.version.cid !== sent.base)
          return await this.meet(head, sent);
      } else if (sent && !isRefused) {
        const made = await this.service.findCreated(sent.content, sent.sentAt);
        if (made) return await this.saved(made, sent.content);
      }
    } catch (error) {
      this.state.value = this.service.isRefusedForSession(error)
        ? SIGN_IN
        : { kind: "waiting", sentence: this.sentenceOf(error) };
      return;
    }
    this.sent = null;
    const sentence = WORDS.serviceDidntAcceptSave;
    if (isRefused) this.state.value = { kind: "refused", sentence, action: "save" };
    else this.settleState();
  }

  /** Keep my text as a separate draft in this browser. */
  private async setAside(note: string): Promise<string> {
    const key = newLocalKey();
    const aside: LocalCopy = {
      account: this.account,
      key,
      tab: this.tab,
      base: null,
      content: this.content.value,
      isSaved: false,
      changedAt: this.timers.now(),
      note: note || WORDS.yourVersionOf(titleOf(this.content.value) || "Untitled"),
    };
    await this.copies.put(aside);
    this.events.onCopies();
    return key;
  }

  /** A closed draft may be open again, with a newer copy, which is not touched. */
  private get expectedText(): string | undefined {
    return this.isClosed ? this.keptText.value : undefined;
  }

  private saveSoon(seconds: number): void {
    if (this.isClosed || this.running) return;
    const isDue = this.service.canSignSilently() || this.state.value.kind === "waiting";
    if (!isDue) return;
    this.timers.clear(this.saveTimer);
    this.saveTimer = this.timers.set(() => void this.save({ isAsked: false }), seconds);
  }

  private is(...kinds: SaveState["kind"][]): boolean {
    return kinds.includes(this.state.value.kind);
  }

  private settleState(): void {
    this.state.value = { kind: this.isUnsaved ? "changed" : "saved" };
  }

  private context(): SaveContext {
    return {
      contentLimit: this.service.contentLimit,
      explain: (error) => this.service.explain(error),
    };
  }

  /** The message shown while waiting. */
  private sentenceOf(error: unknown): string {
    const verdict = judge(error, this.context());
    return "sentence" in verdict ? verdict.sentence : this.service.explain(error);
  }

  private copy(): LocalCopy {
    return {
      account: this.account,
      key: this.key,
      tab: this.tab,
      base: this.base,
      content: this.content.value,
      isSaved: !this.isUnsaved && !isLocalKey(this.key),
      changedAt: this.timers.now(),
      ...(this.sent && { sent: this.sent }),
      ...(this.note && isLocalKey(this.key) && { note: this.note }),
    };
  }
}
