/** Signed writes: creating, saving, publishing and deleting drafts, corrections of posts, and profiles. */

import { isStale, Refusal, Unconfirmed, Unreachable, WalletNeeded } from "./problems.js";
import { type ClientOptions, ImprintReader } from "./reader.js";
import type {
  Action,
  Address,
  DeletedDraft,
  Draft,
  Form,
  Profile,
  Publication,
  PublishedDraft,
  RevisionRecord,
  ServiceFacts,
  WritingAction,
  WritingSessionRecord,
} from "./records.js";
import { pause } from "./transport.js";
import {
  buildProfile,
  buildRevision,
  buildWrite,
  hashBytes,
  hashText,
  type TypedData,
  type WriteValues,
} from "./typed-data.js";
import type { Signer } from "./wallet.js";

/**
 * How many times a write is sent while the service is busy or away, unless the caller has its own
 * `wait`.
 */
const ATTEMPTS = 5;
const LONGEST_PAUSE = 60;

/** The parts of every signed write. A write that is sent twice takes effect only once. */
export interface SignedWrite {
  salt: TypedData;
  address: Address;
  signature: string;
  /** The id of the writing session that signed. */
  session?: string;
}

/** A new profile: omitted texts become empty, and an omitted picture stays. */
export interface ProfileChange {
  name: string;
  bio?: string;
  links?: string[];
  avatar?: Blob | "keep" | "none";
}

export interface SaveOptions {
  /**
   * Called before the write is sent. A caller that stores it can send it again after a
   * reload, with `resendDraft`.
   */
  onSigned?(signed: SignedWrite): unknown;
  /**
   * Waits while the service is busy or away; returns whether the save is sent again. By default a
   * save is sent at most five times.
   */
  wait?(error: Refusal | Unreachable, seconds: number): Promise<boolean>;
}

export class ImprintWriter extends ImprintReader {
  /** How wallets sign writes; writing sessions always sign `imprint-2`. */
  readonly form: Form;
  private readonly domainName: string | null;

  constructor(url: string, facts: ServiceFacts, options: ClientOptions = {}) {
    super(url, facts, options);
    const forms = facts.signing_forms as Form[];
    this.form =
      options.form ?? (forms.includes("imprint-2") ? "imprint-2" : forms[0]) ?? "imprint-2";
    this.domainName = options.domainName ?? null;
  }

  /** The typed data of a write. */
  buildWrite(signer: Signer, action: Action, values: WriteValues): TypedData {
    const form = signer.sessionId ? "imprint-2" : this.form;
    const { service, signing } = this.facts;
    const ofInkdao = this.domainName ?? this.facts.inkdao_domain;
    const name = (form === "inkdao-1" && ofInkdao) || signing.name;
    const facts = { service, signing: { ...signing, name } };
    return buildWrite({ facts, form, address: signer.address, now: this.now() }, action, values);
  }

  /** Have a write signed, without sending it. */
  async signWrite(signer: Signer, action: Action, values: WriteValues): Promise<SignedWrite> {
    const salt = this.buildWrite(signer, action, values);
    const { address, sessionId } = signer;
    const signature = await signer.signTypedData(salt);
    return { salt, address, signature, ...(sessionId && { session: sessionId }) };
  }

  /** `title` is for the form `inkdao-1`; by default the first line of the content. */
  async createDraft(
    signer: Signer,
    content: string,
    options: { title?: string } = {},
  ): Promise<Draft> {
    const values = { contentHash: hashText(content), title: options.title ?? firstLine(content) };
    return this.sendCreate(await this.signWrite(signer, "create", values), content);
  }

  /** Store a new version of the draft: it has a new cid, and the old one is gone. */
  async updateDraft(signer: Signer, cid: string, content: string): Promise<Draft> {
    const values = { cid, contentHash: hashText(content) };
    return this.sendUpdate(await this.signWrite(signer, "update", values), cid, content);
  }

  /**
   * Set the thumbnail and hashtags of the draft; `createPostCall` then publishes it on the chain.
   */
  async publishDraft(
    wallet: Signer,
    cid: string,
    { thumbnail, thumbnailName = "thumbnail", hashtags }: Publication,
  ): Promise<PublishedDraft> {
    const thumbnailHash = hashBytes(new Uint8Array(await thumbnail.arrayBuffer()));
    const values = { cid, thumbnailHash, hashtags: hashtags.join(",") };
    const { salt, ...signed } = await this.signWrite(wallet, "publish", values);
    const form = new FormData();
    form.set("salt", JSON.stringify(salt));
    for (const [name, value] of Object.entries(signed)) form.set(name, value);
    form.set("hashtags", values.hashtags);
    form.set("file", thumbnail, thumbnailName);
    return this.send(`/publish/file?cid=${encodeURIComponent(cid)}`, form);
  }

  async deleteDraft(wallet: Signer, cid: string): Promise<DeletedDraft> {
    const body = await this.signWrite(wallet, "delete", { cid });
    const path = `/delete/file?cid=${encodeURIComponent(cid)}`;
    return (await this.send<{ deletedFile: DeletedDraft }>(path, body)).deletedFile;
  }

  /** Replace the profile of the wallet's author; without an `avatar` the picture stays. */
  async updateProfile(
    wallet: Signer,
    { name, bio = "", links = [], avatar = "keep" }: ProfileChange,
  ): Promise<Profile> {
    const change =
      typeof avatar === "string" ? avatar : hashBytes(new Uint8Array(await avatar.arrayBuffer()));
    const values = { name, bio, links: links.join("\n"), avatar: change };
    const salt = buildProfile(this.facts, values, this.now());
    const form = new FormData();
    form.set("salt", JSON.stringify(salt));
    form.set("address", wallet.address);
    form.set("signature", await wallet.signTypedData(salt));
    if (typeof avatar !== "string") form.set("file", avatar, "avatar");
    return (await this.send<{ profile: Profile }>("/update/profile", form)).profile;
  }

  /**
   * Add a corrected version to a post of the wallet's author; everybody can read the note.
   *
   * `cid` is the cid of the post's document on the chain; if omitted, the service is asked for it.
   * Recovers from a lost response and a busy service; throws `Unconfirmed` if the version may have
   * been added.
   */
  async revisePost(
    wallet: Signer,
    id: string | bigint,
    content: string,
    { note = "", cid }: { note?: string; cid?: string } = {},
  ): Promise<RevisionRecord> {
    const document = cid ?? (await this.showPost(id)).cid;
    const values = { postId: `${id}`, cid: document, contentHash: hashText(content), note };
    const salt = buildRevision(this.facts, values, this.now());
    const signature = await wallet.signTypedData(salt);
    const body = { salt, address: wallet.address, signature, content };
    const path = `/revise/post?postId=${encodeURIComponent(`${id}`)}`;
    return this.deliver(
      async () => (await this.send<{ revision: RevisionRecord }>(path, body)).revision,
      async (error) => (isUsedBy(error, "revise") ? this.newestRevision(id, note) : null),
    );
  }

  private async newestRevision(id: string | bigint, note: string): Promise<RevisionRecord | null> {
    const found = (await this.listRevisions(id)).find((each) => each.note === note);
    if (!found) return null;
    const { words: _, ...record } = found;
    return record;
  }

  /**
   * Save a draft, or a new version of the one with this cid; its record has the new cid.
   *
   * Recovers from a lost response, a busy service and, with a writing session, a wrong clock.
   * Throws `WalletNeeded` if the writing session has ended, `Unconfirmed` if the draft may have
   * been saved, and `Refusal` for problems that the author has to solve.
   */
  async saveDraft(
    signer: Signer,
    content: string,
    cid?: string,
    options: SaveOptions = {},
  ): Promise<Draft> {
    const sign = async () => {
      const contentHash = hashText(content);
      const signed = await (cid === undefined
        ? this.signWrite(signer, "create", { contentHash, title: firstLine(content) })
        : this.signWrite(signer, "update", { contentHash, cid }));
      await options.onSigned?.(signed);
      return signed;
    };
    try {
      return await this.deliverDraft(await sign(), content, cid, options, false).catch(
        async (error) => {
          // By the clock of the service, unless a wallet would have to prompt its owner again.
          if (!isStale(error) || !signer.sessionId) throw error;
          return this.deliverDraft(await sign(), content, cid, options, false);
        },
      );
    } catch (error) {
      // A key that cannot be deleted is refused and forgotten the next time.
      if (error instanceof WalletNeeded) await signer.forget?.().catch(() => undefined);
      throw error;
    }
  }

  /**
   * Resend a save whose response was lost, for example after a reload. Throws like `saveDraft`.
   */
  resendDraft(
    signed: SignedWrite,
    content: string,
    cid?: string,
    options: Pick<SaveOptions, "wait"> = {},
  ): Promise<Draft> {
    return this.deliverDraft(signed, content, cid, options, true);
  }

  private deliverDraft(
    signed: SignedWrite,
    content: string,
    cid: string | undefined,
    options: SaveOptions,
    isUnknown: boolean,
  ): Promise<Draft> {
    const send = () =>
      cid === undefined ? this.sendCreate(signed, content) : this.sendUpdate(signed, cid, content);
    const action: WritingAction = cid === undefined ? "create" : "update";
    const savedBefore = async (error: unknown) =>
      isUsedBy(error, action) ? (error.problem.file ?? null) : null;
    return this.deliver(send, savedBefore, options, isUnknown);
  }

  /**
   * Send the same body until the service responds: it takes effect only once.
   *
   * `savedBefore` returns what an earlier attempt saved, if the error shows that one has.
   * `isUnknown`: an earlier attempt may have taken effect.
   */
  private async deliver<T>(
    send: () => Promise<T>,
    savedBefore: (error: unknown) => Promise<T | null>,
    { wait }: SaveOptions = {},
    isUnknown = false,
  ): Promise<T> {
    let unknown = isUnknown;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await send();
      } catch (error) {
        const saved = await savedBefore(error);
        if (saved) return saved;
        // A new nonce would save it twice.
        if (isStale(error) && unknown)
          throw new Unconfirmed("It may have been saved.", { cause: error });
        if (!isForLater(error)) throw explain(error);
        unknown ||= error.status !== 429;
        const seconds = error.retryAfter ?? Math.min(2 ** (attempt - 1), LONGEST_PAUSE);
        if (!wait && attempt === ATTEMPTS) throw error;
        if (!wait) await pause(seconds * 1000, this.signal);
        else if (!(await wait(error, seconds))) throw error;
      }
    }
  }

  /** Send a signed create; it may be sent again if its response was lost. */
  async sendCreate(signed: SignedWrite, content: string): Promise<Draft> {
    const body = { ...signed, content };
    return (await this.send<{ updatedUpload: Draft }>("/create/group", body)).updatedUpload;
  }

  /** Send a signed update; it may be sent again if its response was lost. */
  async sendUpdate(signed: SignedWrite, cid: string, content: string): Promise<Draft> {
    const path = `/update/file?cid=${encodeURIComponent(cid)}`;
    return (await this.send<{ upload: Draft }>(path, { ...signed, content })).upload;
  }

  // Writing sessions

  /** The writing sessions of the session's address, in all its browsers. */
  async listWritingSessions(): Promise<WritingSessionRecord[]> {
    return (await this.get<{ sessions: WritingSessionRecord[] }>("/writing/sessions")).sessions;
  }

  async revokeWritingSession(id: string): Promise<void> {
    await this.request(`/writing/sessions/${encodeURIComponent(id)}`, { method: "DELETE" });
  }

  /** End all writing sessions of the address, for example after losing a computer. */
  async revokeWritingSessions(): Promise<void> {
    await this.request("/writing/sessions", { method: "DELETE" });
  }
}

/** The first line of a text, without heading marks. */
const firstLine = (content: string): string =>
  (/[^\s#].*/.exec(content)?.[0] ?? "").trim().slice(0, 100);

/** Whether a write was refused because it had taken effect before: its response was lost. */
const isUsedBy = (error: unknown, action: WritingAction | "revise"): error is Refusal =>
  error instanceof Refusal && error.code === "nonce_used" && error.problem.action === action;

/** Whether the same request may succeed in a moment. */
function isForLater(error: unknown): error is Refusal | Unreachable {
  if (error instanceof Unreachable) return true;
  return error instanceof Refusal && (error.status === 429 || error.status === 503);
}

/** `WalletNeeded` instead of the refusal of an ended writing session. */
function explain(error: unknown): unknown {
  const ended = ["writing_session_expired", "writing_session_invalid"];
  if (!(error instanceof Refusal && ended.includes(error.code))) return error;
  return new WalletNeeded("Sign once more to go on writing.", { cause: error });
}
