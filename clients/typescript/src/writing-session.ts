/** Sign once, write all day: a P-256 key of this browser saves drafts for a wallet. */

import { bytesToHex, concat, hashStruct, hexToBytes } from "viem/utils";
import type { Imprint, SignedWrite, WritingSessionOptions } from "./imprint.js";
import type { KeyStore } from "./key-store.js";
import { Refusal, Unreachable, WalletNeeded } from "./problems.js";
import type { Address, Draft, Hex, WritingAction, WritingSessionRecord } from "./records.js";
import { pause } from "./transport.js";
import {
  buildTypedData,
  hashText,
  parseMembers,
  randomNonce,
  type TypedData,
  type WriteValues,
} from "./typed-data.js";
import type { Signer, Wallet } from "./wallet.js";

const WRITING_SESSION =
  "string service,address wallet,bytes publicKey,string[] actions,uint256 notBefore,uint256 expires,string nonce";
const DOMAIN = parseMembers("string name,string version,uint256 chainId");
const P256 = { name: "ECDSA", namedCurve: "P-256" };
const ATTEMPTS = 5;

/** A key that creates and updates drafts, as the wallet allowed it. It never publishes or deletes. */
export class WritingSession implements Signer {
  readonly id: string;
  readonly wallet: Address;
  readonly actions: WritingAction[];
  /** When it ends, ISO 8601. */
  readonly expires: string;

  constructor(
    private readonly imprint: Imprint,
    readonly record: WritingSessionRecord,
    readonly privateKey: CryptoKey,
    private readonly keyStore: KeyStore | null = null,
  ) {
    this.id = record.id;
    this.wallet = record.wallet;
    this.actions = record.actions;
    this.expires = record.expires;
  }

  // As a signer of drafts

  get address(): Address {
    return this.wallet;
  }

  get sessionId(): string {
    return this.id;
  }

  /** Sign the bytes whose hash a wallet would sign: WebCrypto hashes them with SHA-256. */
  async signTypedData({ domain, types, primaryType, message }: TypedData): Promise<Hex> {
    const declared: Record<string, unknown> = { EIP712Domain: DOMAIN, ...types };
    const hash = (name: string, data: Record<string, unknown>) =>
      hashStruct({ data, primaryType: name, types: declared });
    const parts = ["0x1901", hash("EIP712Domain", domain), hash(primaryType, message)] as const;
    const bytes = hexToBytes(concat(parts));
    const algorithm = { name: "ECDSA", hash: "SHA-256" };
    const signature = await crypto.subtle.sign(algorithm, this.privateKey, bytes as BufferSource);
    return bytesToHex(new Uint8Array(signature));
  }

  /** A signed create or update, without sending it. */
  sign(action: WritingAction, values: WriteValues): Promise<SignedWrite> {
    return this.imprint.signWrite(this, action, values);
  }

  /** Save a draft, or a new version of the one with this cid; its record has the new cid.
   *
   * It survives a lost response, a wrong clock and a busy service. Throws `WalletNeeded` if the
   * session has ended, and `Refusal` for what the author has to decide.
   */
  async save(content: string, cid?: string): Promise<Draft> {
    const action = cid === undefined ? "create" : "update";
    const values = { contentHash: hashText(content), ...(cid !== undefined && { cid }) };
    let signed = await this.sign(action, values);
    let unknown = false; // whether an earlier attempt may have taken effect
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await (cid === undefined
          ? this.imprint.sendCreate(signed, content)
          : this.imprint.sendUpdate(signed, cid, content));
      } catch (error) {
        const saved = savedBefore(error, action);
        if (saved) return saved;
        if (attempt === ATTEMPTS) throw error;
        if (isForLater(error)) {
          // The same body again: it takes effect once, however often it arrives.
          unknown ||= error.status !== 429;
          await pause((error.retryAfter ?? attempt) * 1000);
        } else if (isStale(error) && !unknown) {
          // Sign by the clock of the service. Not if it may have been saved: a new nonce would
          // save it twice.
          this.imprint.setClock(error.problem.now);
          signed = await this.sign(action, values);
        } else throw await this.explain(error);
      }
    }
  }

  /** End it everywhere, at once, and delete its key here. Needs a session of the same wallet. */
  async revoke(): Promise<void> {
    await this.imprint.revokeWritingSession(this.id);
    await this.forget();
  }

  /** Delete the key of this browser; nobody can sign with it any more. */
  async forget(): Promise<void> {
    await this.keyStore?.remove(this.imprint.facts.service, this.wallet);
  }

  private async explain(error: unknown): Promise<unknown> {
    const ended = ["writing_session_expired", "writing_session_invalid"];
    if (!(error instanceof Refusal && ended.includes(error.code))) return error;
    await this.forget();
    return new WalletNeeded("Sign once more to go on writing.", { cause: error });
  }
}

/** Ask the wallet, with one signature, to let a new key write for it. */
export async function openWritingSession(
  imprint: Imprint,
  wallet: Wallet,
  { actions = ["create", "update"], seconds = 12 * 3600, keyStore }: WritingSessionOptions,
): Promise<WritingSession> {
  // `false`: no script can read the private key, ours included.
  const { privateKey, publicKey } = await crypto.subtle.generateKey(P256, false, ["sign"]);
  const { address } = wallet;
  const { facts } = imprint;
  const notBefore = imprint.now();
  const salt = buildTypedData(facts, "WritingSession", WRITING_SESSION, {
    service: facts.service,
    wallet: address,
    publicKey: bytesToHex(new Uint8Array(await crypto.subtle.exportKey("raw", publicKey))),
    actions,
    notBefore,
    expires: notBefore + seconds,
    nonce: randomNonce(),
  });
  const body = { salt, address, signature: await wallet.signTypedData(salt) };
  const { session } = await imprint.send<{ session: WritingSessionRecord }>(
    "/writing/sessions",
    body,
  );
  await keyStore?.save(facts.service, session.wallet, { session, privateKey });
  return new WritingSession(imprint, session, privateKey, keyStore ?? null);
}

/** The session that the store has for a wallet, as after a reload; null if there is none. */
export async function resumeWritingSession(
  imprint: Imprint,
  keyStore: KeyStore,
  wallet: Address | Pick<Wallet, "address">,
): Promise<WritingSession | null> {
  const address = typeof wallet === "string" ? wallet : wallet.address;
  const found = await keyStore.load(imprint.facts.service, address);
  if (!found) return null;
  const resumed = new WritingSession(imprint, found.session, found.privateKey, keyStore);
  if (Date.parse(found.session.expires) > imprint.now() * 1000) return resumed;
  await resumed.forget();
  return null;
}

/** The record of a save whose response was lost, if the error says that it took effect. */
function savedBefore(error: unknown, action: WritingAction): Draft | null {
  if (!(error instanceof Refusal) || error.code !== "nonce_used") return null;
  return error.problem.action === action ? (error.problem.file ?? null) : null;
}

/** Whether the same request may succeed in a moment. */
function isForLater(error: unknown): error is Refusal | Unreachable {
  if (error instanceof Unreachable) return true;
  return error instanceof Refusal && (error.status === 429 || error.status === 503);
}

function isStale(error: unknown): error is Refusal & { problem: { now: number } } {
  return error instanceof Refusal && error.code === "signature_stale" && "now" in error.problem;
}
