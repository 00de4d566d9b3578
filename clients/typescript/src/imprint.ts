/** The client of a service: everything that readers do, and everything that authors do. */

import type { KeyStore } from "./key-store.js";
import { type ClientOptions, ImprintReader } from "./reader.js";
import type {
  Action,
  Address,
  DeletedDraft,
  Draft,
  Form,
  Publication,
  PublishedDraft,
  ServiceFacts,
  WritingAction,
  WritingSessionRecord,
} from "./records.js";
import { buildWrite, hashBytes, hashText, type TypedData, type WriteValues } from "./typed-data.js";
import type { Signer, Wallet } from "./wallet.js";
import { openWritingSession, type WritingSession } from "./writing-session.js";

/** What every signed write carries. Sent twice, it takes effect once. */
export interface SignedWrite {
  salt: TypedData;
  address: Address;
  signature: string;
  /** The id of the writing session that signed. */
  session?: string;
}

export interface WritingSessionOptions {
  actions?: WritingAction[];
  /** How long it lasts, at most 24 hours; 12 hours if absent. */
  seconds?: number;
  /** Where the key is put, so that it is found again after a reload. */
  keyStore?: KeyStore;
}

export class Imprint extends ImprintReader {
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

  /** What a signer signs for a write. */
  buildWrite(signer: Signer, action: Action, values: WriteValues): TypedData {
    const form = signer.sessionId ? "imprint-2" : this.form;
    const { service, signing } = this.facts;
    const name = (form === "inkdao-1" && this.domainName) || signing.name;
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

  /** `title` is for the form `inkdao-1`; the first line of the content if absent. */
  async createDraft(
    signer: Signer,
    content: string,
    options: { title?: string } = {},
  ): Promise<Draft> {
    const values = { contentHash: hashText(content), title: options.title ?? firstLine(content) };
    return this.sendCreate(await this.signWrite(signer, "create", values), content);
  }

  /** A new version of the draft: it has a new cid, and the old one is gone. */
  async updateDraft(signer: Signer, cid: string, content: string): Promise<Draft> {
    const values = { cid, contentHash: hashText(content) };
    return this.sendUpdate(await this.signWrite(signer, "update", values), cid, content);
  }

  /** Give the draft its thumbnail and hashtags; the chain does the rest, by `createPostCall`. */
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

  /** `save` of a writing session: a new draft, or a new version of the one with this cid. */
  saveDraft(session: WritingSession, content: string, cid?: string): Promise<Draft> {
    return session.save(content, cid);
  }

  /** Send a create that was signed; the same one may be sent again if its response was lost. */
  async sendCreate(signed: SignedWrite, content: string): Promise<Draft> {
    const body = { ...signed, content };
    return (await this.send<{ updatedUpload: Draft }>("/create/group", body)).updatedUpload;
  }

  /** Send an update that was signed; the same one may be sent again if its response was lost. */
  async sendUpdate(signed: SignedWrite, cid: string, content: string): Promise<Draft> {
    const path = `/update/file?cid=${encodeURIComponent(cid)}`;
    return (await this.send<{ upload: Draft }>(path, { ...signed, content })).upload;
  }

  // Writing sessions

  /** Ask the wallet, with one signature, to let a new key of this browser save drafts for it. */
  openWritingSession(wallet: Wallet, options: WritingSessionOptions = {}): Promise<WritingSession> {
    return openWritingSession(this, wallet, options);
  }

  /** The writing sessions of the session's address, in all its browsers. */
  async listWritingSessions(): Promise<WritingSessionRecord[]> {
    return (await this.read<{ sessions: WritingSessionRecord[] }>("/writing/sessions")).sessions;
  }

  async revokeWritingSession(id: string): Promise<void> {
    await this.request(`/writing/sessions/${encodeURIComponent(id)}`, { method: "DELETE" });
  }

  /** End all of them, as when a computer is lost. */
  async revokeWritingSessions(): Promise<void> {
    await this.request("/writing/sessions", { method: "DELETE" });
  }
}

/** The first line of a text without the marks of a heading. */
const firstLine = (content: string): string =>
  (/[^\s#].*/.exec(content)?.[0] ?? "").trim().slice(0, 100);
