// Sign once, write all day: the wallet opens a writing session, and a key of this browser signs every save.
//
//   const writing = await WritingSession.open(imprint, wallet);       // one signature of the wallet
//   let draft = await writing.save("# Hello");                        // none
//   draft = await writing.save("# Hello, again", draft.cid);          // none
//
// Copy it into a front end, beside imprint.mjs. It needs WebCrypto and IndexedDB, which every browser has.
import { bytesToHex, concat, domainSeparator, hashStruct, hexToBytes } from "viem";
import { Refusal, declare, hashText } from "./imprint.mjs";

const WRITING_SESSION = declare(
  "string service,address wallet,bytes publicKey,string[] actions,uint256 notBefore,uint256 expires,string nonce",
);
const P256 = { name: "ECDSA", namedCurve: "P-256" };
const ATTEMPTS = 5;

/** The key of this browser is not, or no longer, good: the wallet has to sign once more. */
export class WalletNeeded extends Error {
  name = "WalletNeeded";
}

export class WritingSession {
  /** Ask the wallet, with one signature, to let a new key write for it. */
  static async open(imprint, wallet, { seconds = 12 * 3600, actions = ["create", "update"] } = {}) {
    // `false`: no script can read the private key, ours included. It can only be used, on this origin.
    const { privateKey, publicKey } = await crypto.subtle.generateKey(P256, false, ["sign"]);
    const { account } = wallet;
    const notBefore = imprint.now();
    const salt = {
      domain: imprint.facts.signing,
      types: { WritingSession: WRITING_SESSION },
      primaryType: "WritingSession",
      message: {
        service: imprint.facts.service,
        wallet: account.address,
        publicKey: bytesToHex(new Uint8Array(await crypto.subtle.exportKey("raw", publicKey))),
        actions,
        notBefore,
        expires: notBefore + seconds,
        nonce: crypto.randomUUID(),
      },
    };
    const signature = await wallet.signTypedData({ account, ...salt });
    const { session } = await imprint.send("/writing/sessions", { salt, address: account.address, signature });
    await store("readwrite", (keys) => keys.put({ session, privateKey }, nameKey(imprint, session.wallet)));
    return new WritingSession(imprint, session, privateKey);
  }

  /** The session that this browser has for a wallet, or null; it survives a reload of the page. */
  static async find(imprint, address) {
    const name = nameKey(imprint, address);
    const found = await store("readonly", (keys) => keys.get(name));
    if (!found) return null;
    const writing = new WritingSession(imprint, found.session, found.privateKey);
    if (Date.parse(found.session.expires) > imprint.now() * 1000) return writing;
    await writing.forget();
    return null;
  }

  constructor(imprint, session, privateKey) {
    Object.assign(this, { imprint, session, privateKey });
  }

  /** Save a draft, or a new version of the one with this cid; returns its record with its new cid. */
  async save(content, cid) {
    const action = cid ? "update" : "create";
    const values = { ...(cid && { cid }), contentHash: hashText(content) };
    let body = { ...(await this.sign(action, values)), content };
    let unknown = false; // whether an earlier attempt may have taken effect
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.send(action, cid, body);
      } catch (error) {
        const refused = error instanceof Refusal;
        // The response to the attempt before was lost, but the draft was saved.
        if (refused && error.code === "nonce_used" && error.action === action && error.file) return error.file;
        if (attempt === ATTEMPTS) throw error;
        if (!refused || error.status === 429 || error.status === 503) {
          // No response, or not now. The same body again: it takes effect once, however often it arrives.
          unknown ||= error.status !== 429;
          await wait(error.retryAfter ?? attempt);
        } else if (error.code === "signature_stale" && !unknown) {
          // The clock here is wrong, or the waiting took a minute: sign again, by the clock of the service.
          // Not if it may have been saved: a new nonce would save it twice.
          this.imprint.setClock(error.now);
          body = { ...(await this.sign(action, values)), content };
        } else if (error.code === "writing_session_expired" || error.code === "writing_session_invalid") {
          await this.forget();
          throw new WalletNeeded("Sign once more to go on writing.", { cause: error });
        } else {
          throw error; // not_owner, not_pending, quota_exceeded, too_large …: for the person who writes
        }
      }
    }
  }

  /** A signed write: the bytes that a wallet would sign, signed by the key of this browser. */
  async sign(action, values) {
    const salt = this.imprint.buildWrite(action, values);
    const { domain, types, primaryType, message } = salt;
    const types712 = { EIP712Domain: declare("string name,string version,uint256 chainId"), ...types };
    const signed = concat(["0x1901", domainSeparator({ domain }), hashStruct({ data: message, primaryType, types: types712 })]);
    const algorithm = { name: "ECDSA", hash: "SHA-256" };
    const signature = await crypto.subtle.sign(algorithm, this.privateKey, hexToBytes(signed));
    const { id, wallet } = this.session;
    return { salt, address: wallet, session: id, signature: bytesToHex(new Uint8Array(signature)) };
  }

  async send(action, cid, body) {
    if (action === "create") return (await this.imprint.send("/create/group", body)).updatedUpload;
    return (await this.imprint.send(`/update/file?cid=${cid}`, body)).upload;
  }

  /** End it everywhere, at once, and delete its key here. `reader` is a session of the same wallet. */
  async revoke(reader) {
    await this.imprint.send(`/writing/sessions/${this.session.id}`, undefined, { session: reader, method: "DELETE" });
    await this.forget();
  }

  /** Delete the key of this browser; nobody can sign with it any more. */
  async forget() {
    await store("readwrite", (keys) => keys.delete(nameKey(this.imprint, this.session.wallet)));
  }
}

/** The writing sessions of the reader's wallet, in all its browsers. */
export async function listWritingSessions(imprint, reader) {
  return (await imprint.read("/writing/sessions", {}, reader)).sessions;
}

/** End all of them, as when a computer is lost. */
export async function revokeWritingSessions(imprint, reader) {
  await imprint.send("/writing/sessions", undefined, { session: reader, method: "DELETE" });
}

const nameKey = (imprint, address) => `${imprint.facts.service} ${address.toLowerCase()}`;

const wait = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

/** Run one request on the keys of this origin. IndexedDB stores a key that cannot be exported, as it is. */
async function store(mode, run) {
  const opening = indexedDB.open("imprint", 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore("keys");
  const database = await finish(opening);
  try {
    const transaction = database.transaction("keys", mode);
    const done = new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onabort = () => reject(transaction.error);
    });
    const result = await finish(run(transaction.objectStore("keys")));
    await done;
    return result;
  } finally {
    database.close();
  }
}

const finish = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
