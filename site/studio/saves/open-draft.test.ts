import "../../page/page-double.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Draft,
  Imprint,
  type Problem,
  Refusal,
  type SaveOptions,
  type ServiceFacts,
  type SignedWrite,
  type Signer,
  Unreachable,
} from "imprint-press";
import { StorageFull } from "../../page/database.ts";
import type { CopyKey, CopyStore, LocalCopy, SentWrite } from "../store/local-copies.ts";
import { type DraftService, type Head, OpenDraft, type Version } from "./open-draft.ts";

class Copies implements CopyStore {
  readonly kept = new Map<string, LocalCopy>();
  isFull = false;

  async list() {
    return [...this.kept.values()];
  }

  async put(copy: LocalCopy, expected?: string) {
    if (this.isFull) throw new StorageFull("full");
    if (this.hasOther(copy, expected)) return false;
    this.kept.set(`${copy.key} ${copy.tab}`, copy);
    return true;
  }

  async remove(copy: CopyKey, expected?: string) {
    if (!this.hasOther(copy, expected)) this.kept.delete(`${copy.key} ${copy.tab}`);
  }

  private hasOther({ key, tab }: CopyKey, expected?: string) {
    const stored = this.kept.get(`${key} ${tab}`);
    return expected !== undefined && stored !== undefined && stored.content !== expected;
  }

  async summary() {
    return null;
  }

  async putSummary() {}

  texts() {
    return [...this.kept.values()].map(({ content }) => content).sort();
  }
}

const refusal = (code: Problem["code"], status: number, more: Partial<Problem> = {}): Refusal =>
  new Refusal({ type: "", title: "", detail: code, error: code, code, status, ...more });

const FACTS = { signing: {}, signing_forms: ["imprint-2"], now: 0 } as unknown as ServiceFacts;

/** The client, whose requests go to a double of the service. */
class Client extends Imprint {
  constructor(private readonly double: Service) {
    super("http://127.0.0.1", FACTS);
  }

  override async signWrite(): Promise<SignedWrite> {
    return this.double.sign() as never;
  }

  override sendCreate(signed: SignedWrite, content: string): Promise<Draft> {
    return this.double.take(signed, content, null);
  }

  override sendUpdate(signed: SignedWrite, cid: string, content: string): Promise<Draft> {
    return this.double.take(signed, content, cid);
  }
}

/** One draft of a service: an update needs its current cid, and a signed write works once. */
class Service implements DraftService {
  readonly contentLimit = 4 << 20;
  readonly clock = { now: 0 };
  versions: { cid: string; content: string }[] = [];
  signatures = 0;
  hasSession = false;
  failures: unknown[] = [];
  /** Whether the next write arrives but its response does not. */
  losesResponse = false;
  /** A promise that reads and writes wait for, so that a test can act meanwhile. */
  gate: Promise<void> | null = null;
  private readonly used = new Map<unknown, Draft>();
  private readonly client = new Client(this);

  canSignSilently() {
    return this.hasSession;
  }

  async save(content: string, base: string | null, options: SaveOptions): Promise<Version> {
    const wallet: Signer = { address: "0xa", signTypedData: async () => "0x" };
    const signer = this.hasSession ? { ...wallet, sessionId: "key" } : wallet;
    return versionOf(await this.client.saveDraft(signer, content, base ?? undefined, options));
  }

  async resend({ signed, content, base }: SentWrite, wait: SaveOptions["wait"]): Promise<Version> {
    const options = wait ? { wait } : {};
    return versionOf(await this.client.resendDraft(signed, content, base ?? undefined, options));
  }

  sign() {
    this.signatures += 1;
    return { signature: `${this.signatures}`, salt: { at: this.clock.now } };
  }

  async take(signed: SignedWrite, content: string, base: string | null): Promise<Draft> {
    await this.gate;
    const failure = this.failures.shift();
    if (failure) throw failure;
    const { at } = signed.salt as unknown as { at: number };
    if (this.clock.now - at > 60_000)
      throw refusal("signature_stale", 401, { now: this.clock.now / 1000 });
    const earlier = this.used.get(signed.signature);
    if (earlier) {
      const action = base === null ? "create" : "update";
      throw refusal("nonce_used", 409, { action, file: earlier });
    }
    if (base !== null && base !== this.cid()) throw refusal("not_found", 404);
    const { cid, groupId, savedAt } = this.store(content);
    const made = { cid, group_id: groupId, created_at: savedAt } as Draft;
    this.used.set(signed.signature, made);
    if (this.losesResponse) {
      this.losesResponse = false;
      throw new Unreachable("lost");
    }
    return made;
  }

  store(content: string): Version {
    this.versions.push({ cid: `cid${this.versions.length + 1}`, content });
    return { cid: this.cid() ?? "", groupId: "group", savedAt: "2026-11-16T20:00:00Z" };
  }

  cid(): string | null {
    return this.versions.at(-1)?.cid ?? null;
  }

  async head(): Promise<Head> {
    const cid = this.cid();
    if (!cid) return { kind: "gone", postId: null };
    return { kind: "draft", version: { cid, groupId: "group", savedAt: "2026-11-16T20:00:00Z" } };
  }

  async read(cid: string) {
    await this.gate;
    return this.versions.find((each) => each.cid === cid)?.content ?? "";
  }

  async findCreated(content: string) {
    const found = this.versions.find((each) => each.content === content);
    return found ? { cid: found.cid, groupId: "group", savedAt: "2026-11-16T20:00:00Z" } : null;
  }

  sessionEnded() {
    this.hasSession = false;
  }

  explain = () => "It failed.";
  isRefusedForSession = () => false;
}

const versionOf = (draft: Draft): Version => ({
  cid: draft.cid,
  groupId: draft.group_id,
  savedAt: draft.created_at,
});

/** Block reads and writes of a service; returns a function that unblocks them. */
function hold(service: Service): () => void {
  let release = () => {};
  service.gate = new Promise((resolve) => {
    release = resolve;
  });
  return release;
}

/** Let all pending microtasks run. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

interface Opening {
  readonly base?: string | null;
  readonly content?: string;
  readonly key?: string;
  readonly isSaved?: boolean;
  readonly sent?: SentWrite;
  /** The service and this browser as another draft sees them. */
  readonly beside?: { readonly service: Service; readonly copies: Copies };
}

function open({
  base = null,
  content = "",
  key = "local-1",
  isSaved = true,
  sent,
  beside,
}: Opening = {}) {
  const copies = beside?.copies ?? new Copies();
  const service = beside?.service ?? new Service();
  if (base && !beside) service.store(content);
  const { clock } = service;
  const due: (() => void)[] = [];
  const timers = { set: (run: () => void) => due.push(run), clear: () => {}, now: () => clock.now };
  const keys: string[] = [];
  const texts: string[] = [];
  const saves: string[] = [];
  const draft = new OpenDraft(
    { account: "0xa", key, tab: "tab", base, content, isSaved, sent },
    copies,
    service,
    timers,
    {
      onText: (text) => texts.push(text),
      onKey: (each) => keys.push(each),
      onSaved: (_, text) => saves.push(text),
      onCopies: () => {},
    },
  );
  return { draft, copies, service, clock, due, keys, texts, saves };
}

const openSaved = () => open({ base: "cid1", content: "one", key: "group" });

test("a first save creates a draft, and its copy moves to the key of the service", async () => {
  const { draft, copies, service, keys } = open();
  draft.change("hello");
  await draft.save({ isAsked: true });
  assert.equal(draft.saving.value.kind, "saved");
  assert.deepEqual(service.versions, [{ cid: "cid1", content: "hello" }]);
  assert.deepEqual(keys, ["group"]);
  assert.deepEqual([...copies.kept.keys()], ["group tab"]);
});

test("without a writing session, nothing is signed unless the author asks", async () => {
  const { draft, service } = openSaved();
  draft.change("two");
  await draft.save({ isAsked: false });
  assert.equal(service.signatures, 0);
  assert.equal(draft.saving.value.kind, "changed");
});

test("with a writing session a change is saved automatically", async () => {
  const { draft, service, due } = openSaved();
  service.hasSession = true;
  draft.change("two");
  for (const run of due.splice(0)) run();
  await draft.save({ isAsked: true });
  assert.equal(service.versions.at(-1)?.content, "two");
});

test("a save whose response was lost is sent again unchanged, and takes effect once", async () => {
  const { draft, service } = openSaved();
  service.losesResponse = true;
  draft.change("two");
  await draft.save({ isAsked: true });
  assert.equal(draft.saving.value.kind, "waiting");
  await draft.save({ isAsked: false });
  assert.equal(draft.saving.value.kind, "saved");
  assert.equal(draft.base, "cid2");
  assert.equal(service.signatures, 1);
  assert.equal(service.versions.length, 2);
});

test("a save that waits for the service is sent again when its time has come", async () => {
  const { draft, service, due } = openSaved();
  service.failures = [new Unreachable("away"), refusal("overloaded", 503)];
  draft.change("two");
  await draft.save({ isAsked: true });
  due.at(-1)?.();
  await settled();
  assert.equal(draft.saving.value.kind, "waiting");
  due.at(-1)?.();
  await settled();
  assert.equal(draft.saving.value.kind, "saved");
  assert.equal(service.signatures, 1);
});

test("a draft can be closed while its save waits, which continues after reopening", async () => {
  const { draft, service, copies } = openSaved();
  service.losesResponse = true;
  draft.change("two");
  await draft.save({ isAsked: true });
  await draft.settle();
  await draft.close();
  await settled();
  const sent = copies.kept.get("group tab")?.sent;
  assert.ok(sent);
  const beside = { service, copies };
  const again = open({ base: "cid1", content: "two", key: "group", isSaved: false, sent, beside });
  await again.draft.save({ isAsked: false });
  assert.equal(again.draft.saving.value.kind, "saved");
  assert.equal(service.signatures, 1);
  assert.equal(service.versions.length, 2);
});

test("text typed during a wait is signed after the waiting save", async () => {
  const { draft, service } = openSaved();
  service.failures = [new Unreachable("away")];
  draft.change("two");
  await draft.save({ isAsked: true });
  draft.change("three");
  await draft.save({ isAsked: true });
  assert.equal(draft.saving.value.kind, "changed");
  assert.equal(service.signatures, 1);
  await draft.save({ isAsked: true });
  assert.deepEqual(
    service.versions.map(({ content }) => content),
    ["one", "two", "three"],
  );
});

test("a signature that came too late is requested again on the next click", async () => {
  const { draft, service } = openSaved();
  service.failures = [refusal("signature_stale", 401, { now: 1 })];
  draft.change("two");
  await draft.save({ isAsked: true });
  const state = draft.saving.value;
  assert.ok(state.kind === "refused" && /too late/.test(state.sentence));
  await draft.save({ isAsked: true });
  assert.equal(service.signatures, 2);
});

test("a save whose response was lost is found after its signature is stale", async () => {
  for (const opened of [open(), openSaved()]) {
    const { draft, service, clock } = opened;
    service.losesResponse = true;
    draft.change("two");
    await draft.save({ isAsked: true });
    clock.now += 3_600_000;
    const made = service.versions.length;
    await draft.save({ isAsked: false });
    assert.equal(draft.saving.value.kind, "saved");
    assert.equal(service.versions.length, made);
  }
});

test("a save that never arrived is signed again later, if that needs no prompt", async () => {
  const { draft, service, clock, due } = openSaved();
  service.hasSession = true;
  service.failures = [new Unreachable("away")];
  draft.change("two");
  await draft.save({ isAsked: false });
  clock.now += 3_600_000;
  await draft.save({ isAsked: false });
  assert.equal(draft.saving.value.kind, "changed");
  due.at(-1)?.();
  await settled();
  assert.equal(service.versions.at(-1)?.content, "two");
  assert.equal(draft.saving.value.kind, "saved");
});

test("a draft that was saved elsewhere is shown as a conflict, and nothing is overwritten", async () => {
  const { draft, service } = openSaved();
  service.store("theirs");
  draft.change("mine");
  await draft.save({ isAsked: true });
  assert.deepEqual(draft.saving.value, {
    kind: "conflict",
    theirs: { cid: "cid2", content: "theirs", savedAt: "2026-11-16T20:00:00Z" },
  });
  await draft.save({ isAsked: true });
  assert.equal(service.versions.at(-1)?.content, "theirs");
  await draft.keepMine();
  assert.deepEqual(
    service.versions.map(({ content }) => content),
    ["one", "theirs", "mine"],
  );
});

test("taking the other version keeps mine in this browser", async () => {
  const { draft, copies, service, texts } = openSaved();
  service.store("theirs");
  draft.change("mine");
  await draft.look();
  assert.equal(draft.saving.value.kind, "conflict");
  assert.ok(await draft.takeTheirs(""));
  assert.deepEqual(copies.texts(), ["mine", "theirs"]);
  assert.deepEqual(texts, ["theirs"]);
  assert.equal(draft.saving.value.kind, "saved");
});

test("the other version is not taken if there is no room to keep mine", async () => {
  const { draft, copies, service, texts } = openSaved();
  service.store("theirs");
  draft.change("mine");
  await draft.look();
  copies.isFull = true;
  await assert.rejects(draft.takeTheirs(""), StorageFull);
  assert.equal(draft.saving.value.kind, "conflict");
  assert.equal(draft.text.value, "mine");
  assert.deepEqual(texts, []);
});

test("a deleted draft that continues as a new one keeps its earlier copy if there is no room", async () => {
  const { draft, copies, service } = openSaved();
  service.versions = [];
  draft.change("two");
  await draft.keep();
  await draft.save({ isAsked: true });
  copies.isFull = true;
  await draft.becomeNew();
  assert.deepEqual(copies.texts(), ["two"]);
});

test("an unchanged text is replaced by the newer version of the service", async () => {
  const { draft, service, texts } = openSaved();
  service.store("theirs");
  await draft.look();
  assert.deepEqual(texts, ["theirs"]);
  assert.equal(draft.base, "cid2");
});

test("a deleted draft can continue as a new one", async () => {
  const { draft, service, copies } = openSaved();
  service.versions = [];
  draft.change("two");
  await draft.save({ isAsked: true });
  assert.deepEqual(draft.saving.value, { kind: "gone", postId: null });
  await draft.becomeNew();
  await draft.save({ isAsked: true });
  assert.deepEqual(
    service.versions.map(({ content }) => content),
    ["two"],
  );
  assert.deepEqual(copies.texts(), ["two"]);
});

test("an ended writing session is reported, and the wallet can save instead", async () => {
  const { draft, service } = openSaved();
  service.hasSession = true;
  service.failures = [refusal("writing_session_expired", 401)];
  draft.change("two");
  await draft.save({ isAsked: false });
  const state = draft.saving.value;
  assert.equal(state.kind === "refused" && state.action, "session");
  assert.equal(service.hasSession, false);
  await draft.save({ isAsked: true });
  assert.equal(draft.saving.value.kind, "saved");
});

test("after a refusal, the text stays in this browser", async () => {
  for (const code of ["quota_exceeded", "too_large"] as const) {
    const { draft, service, copies } = openSaved();
    service.failures = [refusal(code, 413)];
    draft.change("two");
    await draft.save({ isAsked: true });
    assert.equal(draft.saving.value.kind, "refused");
    assert.deepEqual(copies.texts(), ["two"]);
  }
});

test("a browser without room is reported, and the text can still be saved", async () => {
  const { draft, copies, service } = openSaved();
  copies.isFull = true;
  draft.change("two");
  await draft.keep();
  assert.match(draft.keeping.value ?? "", /no space/);
  assert.ok(!draft.isKept && !draft.hasCopy);
  await draft.save({ isAsked: true });
  assert.equal(service.versions.at(-1)?.content, "two");
});

test("a text counts as stored when the copy is written, not before", async () => {
  const { draft } = openSaved();
  assert.ok(draft.isKept);
  draft.change("two");
  const keeping = draft.keep();
  assert.ok(!draft.isKept && !draft.hasCopy);
  await keeping;
  assert.ok(draft.isKept && draft.hasCopy);
  draft.change("three");
  assert.ok(!draft.isKept);
});

test("a draft settles when its save is done and its copy is written", async () => {
  const { draft, service, copies } = openSaved();
  draft.change("two");
  void draft.save({ isAsked: true });
  draft.change("three");
  await draft.settle();
  assert.equal(service.versions.at(-1)?.content, "two");
  assert.ok(copies.texts().includes("three"));
  assert.ok(draft.isKept);
});

test("text typed during a save remains unsaved", async () => {
  const { draft, service, saves } = openSaved();
  draft.change("two");
  const saving = draft.save({ isAsked: true });
  draft.change("three");
  await saving;
  assert.deepEqual(saves, ["two"]);
  assert.equal(draft.isUnsaved, true);
  assert.equal(draft.text.value, "three");
  assert.equal(service.versions.length, 2);
});

test("a first save that ends after its draft was closed does not navigate to it", async () => {
  const { draft, service, copies, keys } = open();
  const release = hold(service);
  draft.change("hello");
  const saving = draft.save({ isAsked: true });
  await draft.close();
  release();
  await saving;
  assert.deepEqual(keys, []);
  assert.deepEqual([...copies.kept.keys()], ["group tab"]);
});

test("a first save that ends late keeps the copy of a draft that was reopened and changed", async () => {
  const { draft, service, copies } = open();
  const release = hold(service);
  draft.change("hello");
  const saving = draft.save({ isAsked: true });
  await draft.close();
  const again = open({ content: "hello", beside: { service, copies } }).draft;
  again.change("hello again");
  await again.keep();
  release();
  await saving;
  assert.equal(copies.kept.get("local-1 tab")?.content, "hello again");
  assert.equal(copies.kept.get("group tab")?.content, "hello");
});

test("an update that ends late does not replace a newer copy of the same draft", async () => {
  const { draft, service, copies } = openSaved();
  const release = hold(service);
  draft.change("two");
  const saving = draft.save({ isAsked: true });
  await draft.close();
  const beside = { service, copies };
  const again = open({ base: "cid1", content: "two", key: "group", beside }).draft;
  again.change("three");
  await again.keep();
  release();
  await saving;
  assert.deepEqual(copies.texts(), ["three"]);
});

test("the copy of a closed draft is written before another tab can read it", () => {
  const { draft, copies } = openSaved();
  draft.change("two");
  void draft.close();
  assert.deepEqual(copies.texts(), ["two"]);
});

test("a deleted draft that continues as a new one does not navigate to it after it was closed", async () => {
  const { draft, service, keys } = openSaved();
  service.versions = [];
  draft.change("two");
  await draft.save({ isAsked: true });
  const renewal = draft.becomeNew();
  await draft.close();
  await renewal;
  assert.deepEqual(keys, []);
});

test("a check does not disturb a save that waits for the service", async () => {
  const { draft, service } = openSaved();
  service.losesResponse = true;
  draft.change("two");
  await draft.save({ isAsked: true });
  draft.change("three");
  await draft.look();
  assert.equal(draft.saving.value.kind, "waiting");
  await draft.save({ isAsked: false });
  assert.equal(draft.saving.value.kind, "changed");
  assert.equal(draft.base, "cid2");
});

test("a choice between two versions is not undone by an earlier check", async () => {
  const { draft, service } = openSaved();
  service.store("theirs");
  draft.change("mine");
  await draft.look();
  const release = hold(service);
  const looking = draft.look();
  await settled();
  service.gate = null;
  await draft.keepMine();
  release();
  await looking;
  assert.equal(draft.text.value, "mine");
  assert.equal(draft.base, "cid3");
});

test("a check that ends after its draft was closed changes neither text nor copy", async () => {
  const { draft, service, copies, texts } = openSaved();
  service.store("theirs");
  const release = hold(service);
  const looking = draft.look();
  await settled();
  await draft.close();
  release();
  await looking;
  assert.deepEqual(texts, []);
  assert.deepEqual(copies.texts(), []);
});
