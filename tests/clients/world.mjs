// The service that the tests were given, and people with wallets of every kind.
import { readFile } from "node:fs/promises";
import { Wallet } from "ethers";
import { createWalletClient, http } from "viem";
import { generatePrivateKey, mnemonicToAccount, privateKeyToAccount } from "viem/accounts";
import { foundry } from "viem/chains";
import { Imprint, Refusal } from "../../examples/viem/imprint.mjs";

const MNEMONIC = "test test test test test test test test test test test junk";

export const imprint = await Imprint.connect(process.env.SERVICE_URL);
export const { host, origin } = new URL(imprint.url);
export const cover = new Blob([await readFile(new URL("../../examples/viem/cover.png", import.meta.url))]);

const chain = { chain: foundry, transport: http(imprint.facts.chain.rpc_url), pollingInterval: 50 };

/** Somebody with money, whose key is here. */
export const openLocal = (addressIndex) =>
  createWalletClient({ account: mnemonicToAccount(MNEMONIC, { addressIndex }), ...chain });

/** The same people, whose keys the node has, as a browser's wallet has them. */
export const openUnlocked = (addressIndex) =>
  createWalletClient({ account: openLocal(addressIndex).account.address, ...chain });

/** Somebody whom nobody has met, without money. */
export const openStranger = () =>
  createWalletClient({ account: privateKeyToAccount(generatePrivateKey()), ...chain });

/** The same as viem's wallet, as far as signing goes, made of an ethers wallet. */
export function openEthers(signer = Wallet.createRandom()) {
  return {
    account: { address: signer.address },
    signMessage: ({ message }) => signer.signMessage(message),
    signTypedData: ({ domain, types, message }) => signer.signTypedData(domain, types, message),
  };
}

/** Make a post of a new draft; its id and its file. */
export async function makePost(wallet, { content = "Words for sale.", price = 10n ** 15n, hashtags = [] } = {}) {
  const draft = await imprint.createDraft(wallet, content);
  const thumbnailCid = await imprint.publishDraft(wallet, draft.cid, cover, hashtags);
  const postId = await imprint.createPost(wallet, { cid: draft.cid, title: "A title", thumbnailCid, price, hashtags });
  return { postId, file: await imprint.waitForPost(draft.cid) };
}

/** The refusal that a promise ends with; fails if it ends with anything else. */
export async function refusalOf(promise) {
  const said = await promise.then(
    () => undefined,
    (error) => error,
  );
  if (!(said instanceof Refusal)) throw new Error("The service did not refuse.", { cause: said });
  return said;
}

/** Everything that an async generator yields. */
export async function collect(list) {
  const found = [];
  for await (const each of list) found.push(each);
  return found;
}
