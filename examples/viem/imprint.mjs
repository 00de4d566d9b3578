// A client of the Imprint service, for viem. Copy it into a front end: it needs nothing else.
//
//   const imprint = await Imprint.connect("http://127.0.0.1:8000");
//   const draft = await imprint.createDraft(wallet, "# Hello");
//
// `wallet` is any viem wallet client, over `window.ethereum` or over a private key.
import { keccak256, parseAbi, parseEventLogs, stringToBytes } from "viem";
import { waitForTransactionReceipt } from "viem/actions";
import { createSiweMessage, generateSiweNonce } from "viem/siwe";

export const marketplaceAbi = parseAbi([
  "struct NewPost { string postCid; string postTitle; string thumbnailCid; string description; uint256 priceInNative; string[] hashtags; }",
  "function createPost(NewPost params) returns (uint256 tokenId)",
  "function subscribePost(uint256 tokenId) payable",
  "event PostCreated(uint256 indexed tokenId, string postTitle, string postCid, string thumbnailCid, address indexed author, uint256 costInNativeInWei)",
]);

const DRAFT_TYPES = {
  CreateDraft: declare("string service,bytes32 contentHash,string nonce,uint256 timestamp"),
  UpdateDraft: declare("string service,string cid,bytes32 contentHash,string nonce,uint256 timestamp"),
  PublishDraft: declare("string service,string cid,bytes32 thumbnailHash,string hashtags,string nonce,uint256 timestamp"),
  DeleteDraft: declare("string service,string cid,string nonce,uint256 timestamp"),
};

/** The service said no. Act upon `code`; show `message` to people. */
export class Refusal extends Error {
  constructor({ detail, code, status, file, action, now }, retryAfter = null) {
    super(detail);
    Object.assign(this, { name: "Refusal", code, status, file, action, now, retryAfter });
  }
}

export class Imprint {
  /** Ask the service what it signs with and which chain it reads. */
  static async connect(url) {
    return new Imprint(url, await fetchJson(`${url}/.well-known/imprint.json`));
  }

  constructor(url, facts) {
    Object.assign(this, { url, facts });
    this.setClock(facts.now);
  }

  // The clock of the service, by which signatures are fresh or stale

  /** Take over the time of the service, in Unix seconds: `now` of its facts or of a refusal. */
  setClock(now) {
    this.clockAhead = now - Date.now() / 1000;
  }

  /** The time of the service in Unix seconds. */
  now() {
    return Math.floor(Date.now() / 1000 + this.clockAhead);
  }

  // Sessions, which are for reading

  /** A session (EIP-4361), for any wallet: a contract's signature is just longer. In a page, `origin` is `location.origin`. */
  async signIn(wallet, origin = this.url) {
    const { address } = wallet.account;
    const message = createSiweMessage({
      address,
      domain: new URL(origin).host,
      uri: origin,
      version: "1",
      chainId: this.facts.chain.id,
      nonce: generateSiweNonce(),
      issuedAt: new Date(this.now() * 1000),
      statement: "Sign in to read.",
    });
    const signature = await wallet.signMessage({ account: wallet.account, message });
    return this.send("/auth/login", { salt: message, address, signature });
  }

  /** End this session, or every session of its address, at once and everywhere. */
  async signOut(session, { all = false } = {}) {
    await this.send("/auth/logout", all ? { all } : {}, { session });
  }

  // Drafts: every write is signed (EIP-712) and works once

  /** The typed data of a write that is good for this service and these values only (the form `imprint-2`). */
  buildWrite(action, values) {
    const primaryType = `${action[0].toUpperCase()}${action.slice(1)}Draft`;
    const message = { service: this.facts.service, ...values, nonce: crypto.randomUUID(), timestamp: this.now() };
    return { domain: this.facts.signing, types: { [primaryType]: DRAFT_TYPES[primaryType] }, primaryType, message };
  }

  /** What every write carries. Sent twice, it takes effect once. */
  async signDraft(wallet, action, values) {
    const { account } = wallet;
    const salt = this.buildWrite(action, values);
    return { salt, address: account.address, signature: await wallet.signTypedData({ account, ...salt }) };
  }

  /** The same in the form `imprint-1`, which says neither which draft nor which content it is for. */
  async signWrite(wallet, action) {
    const primaryType = `${action[0].toUpperCase()}${action.slice(1)}File`;
    const { account } = wallet;
    const salt = {
      domain: this.facts.signing,
      types: { [primaryType]: ["action", "nonce", "timestamp"].map((name) => ({ name, type: "string" })) },
      primaryType,
      message: {
        action,
        nonce: `${account.address.toLowerCase()}_${crypto.randomUUID()}`,
        timestamp: String(this.now()),
      },
    };
    const signature = await wallet.signTypedData({ account, ...salt });
    return { salt, address: account.address, signature };
  }

  async createDraft(wallet, content) {
    const body = { ...(await this.signDraft(wallet, "create", { contentHash: hashText(content) })), content };
    return (await this.send("/create/group", body)).updatedUpload;
  }

  /** A new version of the draft: it has a new cid, and the old one is gone. */
  async updateDraft(wallet, cid, content) {
    const body = { ...(await this.signDraft(wallet, "update", { cid, contentHash: hashText(content) })), content };
    return (await this.send(`/update/file?cid=${cid}`, body)).upload;
  }

  /** Give the draft its thumbnail (a Blob or File: PNG, JPEG or WebP) and hashtags; the thumbnail's cid. */
  async publishDraft(wallet, cid, image, hashtags = []) {
    const thumbnailHash = keccak256(new Uint8Array(await image.arrayBuffer()));
    const values = { cid, thumbnailHash, hashtags: hashtags.join(",") };
    const { salt, address, signature } = await this.signDraft(wallet, "publish", values);
    const form = new FormData();
    form.set("salt", JSON.stringify(salt));
    form.set("address", address);
    form.set("signature", signature);
    form.set("hashtags", values.hashtags);
    form.set("file", image, "thumbnail");
    return (await this.send(`/publish/file?cid=${cid}`, form)).thumbnailCid;
  }

  async deleteDraft(wallet, cid) {
    return (await this.send(`/delete/file?cid=${cid}`, await this.signDraft(wallet, "delete", { cid }))).deletedFile;
  }

  async readDraft(session, cid) {
    return this.read("/fileByCid", { cid }, session);
  }

  // Posts: what is on the chain is the wallet's business, not the service's

  /** Publish a draft on the chain; the id of the post. The service hears of it by itself. */
  async createPost(wallet, { cid, title, thumbnailCid, description = "", price = 0n, hashtags = [] }) {
    const receipt = await this.transact(wallet, "createPost", [
      { postCid: cid, postTitle: title, thumbnailCid, description, priceInNative: price, hashtags },
    ]);
    const [created] = parseEventLogs({ abi: marketplaceAbi, eventName: "PostCreated", logs: receipt.logs });
    return created.args.tokenId;
  }

  /** Buy a token of the post, which lets its holder read. */
  async buyPost(wallet, postId, price) {
    await this.transact(wallet, "subscribePost", [postId], price);
  }

  /** The file, as soon as the service knows that it is a post. */
  async waitForPost(cid, { seconds = 15, signal = AbortSignal.timeout(seconds * 1000) } = {}) {
    for (;;) {
      const { files: [file] } = await this.read("/filesMetaData", { cid });
      if (file.keyvalues.status === "onchain") return file;
      signal.throwIfAborted();
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }

  /** A post's content: for its author, for holders of its token, and for all if its price is 0. */
  async readPost(session, postId) {
    return this.read("/fileByPostId", { user: session.address, postId }, session);
  }

  /** A post whose price is 0 needs no session. */
  async readFreePost(postId) {
    return this.read("/freeFileByPostId", { postId });
  }

  // Lists

  /** All files, newest first: posts, posts with all of these `tags`, or the drafts of a `session`. */
  async *listAll({ tags, session } = {}) {
    let [path, query] = ["/filesMetaData", {}];
    if (tags) [path, query] = ["/filesByTags", { tags: tags.join(",") }];
    if (session) [path, query] = ["/pendingFilesByOwner", { owner: session.address }];
    let page = await this.read(path, query, session);
    for (;;) {
      yield* page.files;
      if (page.next_page_token === null) return;
      page = await this.read("/filesByNextPageToken", { next_page_token: page.next_page_token });
    }
  }

  // How it is all sent

  async read(path, query = {}, session) {
    return fetchJson(`${this.url}${path}?${new URLSearchParams(query)}`, { headers: bearer(session) });
  }

  async send(path, body, { session, method = "POST" } = {}) {
    const isForm = body instanceof FormData; // which names its own media type
    const headers = { ...bearer(session), ...(body && !isForm && { "Content-Type": "application/json" }) };
    return fetchJson(this.url + path, { method, headers, body: isForm ? body : JSON.stringify(body) });
  }

  async transact(wallet, functionName, args, value) {
    const address = this.facts.chain.marketplace;
    const hash = await wallet.writeContract({ address, abi: marketplaceAbi, functionName, args, value });
    const receipt = await waitForTransactionReceipt(wallet, { hash });
    if (receipt.status !== "success") throw new Error(`${functionName} was reverted.`);
    return receipt;
  }
}

/** The hash of a text that a signature is bound to. */
export const hashText = (text) => keccak256(stringToBytes(text));

/** The members of an EIP-712 type, from its text. */
export function declare(text) {
  return text.split(",").map((member) => {
    const [type, name] = member.split(" ");
    return { name, type };
  });
}

const bearer = (session) => (session ? { Authorization: `Bearer ${session.token}` } : {});

async function fetchJson(url, options) {
  const answer = await fetch(url, options);
  if (answer.status === 204) return null;
  if (answer.ok) return answer.json();
  const { status } = answer; // what stands before the service may answer in its own words
  const problem = await answer.json().catch(() => ({ status, detail: `The service answered ${status}.` }));
  throw new Refusal(problem, Number(answer.headers.get("Retry-After")) || null);
}
