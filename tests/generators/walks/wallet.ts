// A wallet: signs what the service asks for, and calls the marketplace.
import { createPublicClient, createWalletClient, http, keccak256, parseAbi, parseEventLogs, stringToBytes, toHex } from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { foundry } from "viem/chains";
import { createSiweMessage, generateSiweNonce } from "viem/siwe";

const MNEMONIC = "test test test test test test test test test test test junk";

const abi = parseAbi([
  "struct NewPost { string postCid; string postTitle; string thumbnailCid; string description; uint256 priceInNative; string[] hashtags; }",
  "function createPost(NewPost params) returns (uint256 tokenId)",
  "function subscribePost(uint256 tokenId) payable",
  "event PostCreated(uint256 indexed tokenId, string postTitle, string postCid, string thumbnailCid, address indexed author, uint256 costInNativeInWei)",
]);

/** The members of `/.well-known/imprint.json` that a wallet needs; every generated type has them. */
interface Facts {
  service: string;
  signing: { name: string; version: string; chainId: number };
  chain: { id: number; marketplace: string; rpc_url?: string };
}

type Action = "create" | "update" | "publish" | "delete";
type Kind<A extends Action> = `${Capitalize<A>}File`;

const members = ["action", "nonce", "timestamp"].map((name) => ({ name, type: "string" }));

const opening = [
  ["service", "string"],
  ["wallet", "address"],
  ["publicKey", "bytes"],
  ["actions", "string[]"],
  ["notBefore", "uint256"],
  ["expires", "uint256"],
  ["nonce", "string"],
].map(([name, type]) => ({ name: name as string, type: type as string }));

const updateMembers = ["string service", "string cid", "bytes32 contentHash", "string nonce", "uint256 timestamp"].map(
  (member) => ({ name: member.slice(member.indexOf(" ") + 1), type: member.slice(0, member.indexOf(" ")) }),
);

export class Wallet {
  readonly address: `0x${string}`;
  private readonly wallet;
  private readonly node;

  constructor(
    private readonly facts: Facts,
    addressIndex: number,
  ) {
    const chain = { chain: foundry, transport: http(facts.chain.rpc_url), pollingInterval: 50 };
    const account = mnemonicToAccount(MNEMONIC, { addressIndex });
    this.wallet = createWalletClient({ account, ...chain });
    this.node = createPublicClient(chain);
    this.address = account.address;
  }

  /** The body of a login (EIP-4361). */
  async signLogin(origin: string) {
    const salt = createSiweMessage({
      address: this.address,
      domain: new URL(origin).host,
      uri: origin,
      version: "1",
      chainId: this.facts.chain.id,
      nonce: generateSiweNonce(),
    });
    return { salt, address: this.address, signature: await this.wallet.signMessage({ message: salt }) };
  }

  /** The parts of every write (EIP-712). */
  async signWrite<A extends Action>(action: A) {
    const kind = `${action.charAt(0).toUpperCase()}${action.slice(1)}File` as Kind<A>;
    const now = String(Math.floor(Date.now() / 1000));
    const message = { action, nonce: `${this.address}_${crypto.randomUUID()}`, timestamp: now };
    const types = { [kind]: members } as { [K in Kind<A>]: typeof members };
    const domain = this.facts.signing;
    const signature = await this.wallet.signTypedData({ domain, types, primaryType: kind, message } as never);
    return { salt: { domain, types, primaryType: kind, message }, address: this.address, signature };
  }

  /** The body that opens a writing session for a new key. */
  async signWritingSession(service: string) {
    const keys = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, false, ["sign", "verify"]);
    const now = Math.floor(Date.now() / 1000);
    const message = {
      service,
      wallet: this.address,
      publicKey: toHex(new Uint8Array(await crypto.subtle.exportKey("raw", keys.publicKey))),
      actions: ["create" as const, "update" as const],
      notBefore: now,
      expires: now + 3600,
      nonce: crypto.randomUUID(),
    };
    const typed = { domain: this.facts.signing, types: { WritingSession: opening }, primaryType: "WritingSession" as const, message };
    return { salt: typed, address: this.address, signature: await this.wallet.signTypedData(typed as never) };
  }

  /** The parts of an update that is bound to this service, the draft and the content. */
  async signUpdate(cid: string, content: string) {
    const message = {
      service: this.facts.service,
      cid,
      contentHash: keccak256(stringToBytes(content)),
      nonce: crypto.randomUUID() as string,
      timestamp: Math.floor(Date.now() / 1000),
    };
    const [domain, types] = [this.facts.signing, { UpdateDraft: updateMembers }];
    const primaryType = "UpdateDraft" as const;
    const signature = await this.wallet.signTypedData({ domain, types, primaryType, message } as never);
    return { salt: { domain, types, primaryType, message }, address: this.address, signature };
  }

  /** Publish on the chain; returns the id of the new post. */
  async createPost(postCid: string, thumbnailCid: string, priceInNative: bigint, hashtags: string[]) {
    const post = { postCid, postTitle: "Hello", thumbnailCid, description: "", priceInNative, hashtags };
    const receipt = await this.mine(
      await this.wallet.writeContract({ address: this.marketplace, abi, functionName: "createPost", args: [post] }),
    );
    const [created] = parseEventLogs({ abi, eventName: "PostCreated", logs: receipt.logs });
    if (created === undefined) throw new Error("The marketplace created no post.");
    return String(created.args.tokenId);
  }

  /** Buy a token of the post. */
  async buyPost(postId: string, value: bigint) {
    const args = [BigInt(postId)] as const;
    await this.mine(
      await this.wallet.writeContract({ address: this.marketplace, abi, functionName: "subscribePost", args, value }),
    );
  }

  private get marketplace() {
    return this.facts.chain.marketplace as `0x${string}`;
  }

  private async mine(hash: `0x${string}`) {
    const receipt = await this.node.waitForTransactionReceipt({ hash });
    if (receipt.status !== "success") throw new Error("The transaction was reverted.");
    return receipt;
  }
}

/** Poll until there is a result. */
export async function until<T>(ask: () => Promise<T | undefined>, seconds = 30): Promise<T> {
  for (const end = Date.now() + seconds * 1000; Date.now() < end; ) {
    const found = await ask();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("It did not happen in time.");
}
