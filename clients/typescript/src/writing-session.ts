/** Sign once, write all day: a P-256 key of this browser saves drafts for a wallet. */

import { bytesToHex, concat, hashStruct, hexToBytes } from "viem/utils";
import type { KeyStore } from "./key-store.js";
import type { Address, Draft, Hex, WritingAction, WritingSessionRecord } from "./records.js";
import { buildTypedData, parseMembers, randomNonce, type TypedData } from "./typed-data.js";
import type { Signer, Wallet } from "./wallet.js";
import type { ImprintWriter, SaveOptions } from "./writer.js";

const WRITING_SESSION =
  "string service,address wallet,bytes publicKey,string[] actions,uint256 notBefore,uint256 expires,string nonce";
const DOMAIN = parseMembers("string name,string version,uint256 chainId");
const P256 = { name: "ECDSA", namedCurve: "P-256" };

export interface WritingSessionOptions {
  actions?: WritingAction[];
  /** The lifetime in seconds: at most 24 hours, 12 hours by default. */
  seconds?: number;
  /** Where the key is stored, so that it survives a reload. */
  keyStore?: KeyStore;
}

/**
 * A key that creates and updates drafts with the wallet's permission. It never publishes or
 * deletes.
 */
export class WritingSession implements Signer {
  readonly id: string;
  readonly wallet: Address;
  readonly actions: WritingAction[];
  /** When the session ends (ISO 8601). */
  readonly expires: string;

  constructor(
    private readonly imprint: ImprintWriter,
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

  /** Sign the bytes that a wallet would hash; WebCrypto hashes them with SHA-256. */
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

  /** `saveDraft` with this key, which is deleted if the service refuses it. */
  save(content: string, cid?: string, options?: SaveOptions): Promise<Draft> {
    return this.imprint.saveDraft(this, content, cid, options);
  }

  /** End the session everywhere, and delete its key here. Needs a login of the same wallet. */
  async revoke(): Promise<void> {
    await this.imprint.revokeWritingSession(this.id);
    await this.forget();
  }

  /** Delete the key in this browser; nobody can sign with it any more. */
  async forget(): Promise<void> {
    await this.keyStore?.remove(this.imprint.facts.service, this.wallet);
  }
}

/** Ask the wallet for one signature that lets a new key write for it. */
export async function openWritingSession(
  imprint: ImprintWriter,
  wallet: Wallet,
  { actions = ["create", "update"], seconds = 12 * 3600, keyStore }: WritingSessionOptions,
): Promise<WritingSession> {
  // `false`: no script can read the private key, including ours.
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

/** The stored session of a wallet, for example after a reload; null if there is none. */
export async function resumeWritingSession(
  imprint: ImprintWriter,
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
