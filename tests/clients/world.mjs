// The service under test, and people with wallets of every kind.
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { Wallet } from "ethers";
import {
  Imprint,
  Refusal,
  buyPostCall,
  createPostCall,
  createdPostId,
  httpProvider,
  waitForReceipt,
  walletOfAccount,
  walletOfProvider,
} from "imprint-press";
import { generatePrivateKey, mnemonicToAccount, privateKeyToAccount } from "viem/accounts";

/** The public keys of development chains. */
export const MNEMONIC = "test test test test test test test test test test test junk";

export const imprint = await Imprint.connect(process.env.SERVICE_URL);
export const { host, origin } = new URL(imprint.url);
export const cover = new Blob([await readFile(new URL("../../examples/viem/cover.png", import.meta.url))]);

/** The chain's node. */
export const node = httpProvider(imprint.facts.chain.rpc_url);

/** Somebody with coins and a local key. */
export const openLocal = (addressIndex) =>
  walletOfAccount(mnemonicToAccount(MNEMONIC, { addressIndex }), node);

/** The same people with keys held by the node, like a browser's wallet. */
export const openUnlocked = (addressIndex) => walletOfProvider(node, openLocal(addressIndex).address);

/** A new account without coins. */
export const openStranger = () => walletOfAccount(privateKeyToAccount(generatePrivateKey()), node);

/** The same for signing, made of an ethers wallet. */
export function openEthers(signer = Wallet.createRandom()) {
  return {
    address: signer.address,
    signMessage: (message) => signer.signMessage(message),
    signTypedData: ({ domain, types, message }) => signer.signTypedData(domain, types, message),
  };
}

/** The client with a session of this wallet, while `imprint` itself has none. */
export async function signIn(wallet) {
  return imprint.as(await imprint.login(wallet, { remember: false }));
}

/** A write in the form `imprint-1`, which binds neither the draft nor the content. */
export const signFirst = (wallet, action) =>
  new Imprint(imprint.url, imprint.facts, { form: "imprint-1" }).signWrite(wallet, action, {});

/** The receipt of a transaction; fails if it was reverted. */
export async function transact(wallet, call) {
  const receipt = await waitForReceipt(node, await wallet.sendTransaction(call), { everyMs: 50 });
  if (receipt.status !== "success") throw new Error("The transaction was reverted.");
  return receipt;
}

/** Publish a cid on the chain; returns the id of the post. */
export async function createPost(wallet, { title = "A title", description = "", price = 0n, hashtags = [], ...cids }) {
  const { marketplace } = imprint.facts.chain;
  const call = createPostCall(marketplace, { title, description, price, hashtags, ...cids });
  return createdPostId(await transact(wallet, call), marketplace);
}

export const buyPost = (wallet, postId, price) =>
  transact(wallet, buyPostCall(imprint.facts.chain.marketplace, postId, price));

/** Publish a new draft; returns the post's id and its file. */
export async function makePost(wallet, { content = "Words for sale.", price = 10n ** 15n, hashtags = [] } = {}) {
  const { cid } = await imprint.createDraft(wallet, content);
  const { thumbnailCid } = await imprint.publishDraft(wallet, cid, { thumbnail: cover, hashtags });
  const postId = await createPost(wallet, { cid, thumbnailCid, price, hashtags });
  return { postId, file: await imprint.waitForPost(cid) };
}

/** The refusal with which a promise rejects; fails for anything else. */
export async function refusalOf(promise) {
  const said = await promise.then(
    () => undefined,
    (error) => error,
  );
  if (!(said instanceof Refusal)) throw new Error("The service did not refuse.", { cause: said });
  return said;
}

/** What a call returns once it succeeds; the index follows the chain. */
export async function eventually(call) {
  for (let left = 150; left > 0; left -= 1) {
    const found = await call().catch(() => null);
    if (found) return found;
    await sleep(100);
  }
  return call();
}
