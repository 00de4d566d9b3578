// Publish a post and sell it: the whole walk against `imprint dev`, as a page would do it.
//
//   npm ci --prefix ../../clients/typescript && npm run --prefix ../../clients/typescript build
//   npm ci && node walk.mjs [http://127.0.0.1:8000]
import { readFile } from "node:fs/promises";
import {
  Imprint,
  buyPostCall,
  createPostCall,
  createdPostId,
  httpProvider,
  parseCoin,
  waitForReceipt,
  walletOfAccount,
} from "imprint-press";
import { mnemonicToAccount } from "viem/accounts";

const imprint = await Imprint.connect(process.argv[2] ?? "http://127.0.0.1:8000");
const { marketplace, rpc_url } = imprint.facts.chain;
const node = httpProvider(rpc_url);

// The public mnemonic of development chains. In a page: walletOfProvider(window.ethereum, address).
const MNEMONIC = "test test test test test test test test test test test junk";
const open = (addressIndex) => walletOfAccount(mnemonicToAccount(MNEMONIC, { addressIndex }), node);
const [alice, bob] = [open(1), open(2)];
const send = async (wallet, call) => waitForReceipt(node, await wallet.sendTransaction(call), { everyMs: 100 });

const writing = await imprint.openWritingSession(alice); // one signature of the wallet
let draft = await writing.save("# Hello\n\nA first line."); // none
draft = await writing.save("# Hello\n\nA first line, and a better second.", draft.cid); // none
console.log(`Alice has a draft: ${draft.cid}`);

const thumbnail = new Blob([await readFile(new URL("cover.png", import.meta.url))]);
const hashtags = ["essays", "hello"];
const { thumbnailCid } = await imprint.publishDraft(alice, draft.cid, { thumbnail, hashtags });
const price = parseCoin("0.01");
const post = { cid: draft.cid, title: "Hello", thumbnailCid, description: "", price, hashtags };
const postId = createdPostId(await send(alice, createPostCall(marketplace, post)), marketplace);
const file = await imprint.waitForPost(draft.cid);
console.log(`It is post ${postId} now, tagged ${file.hashtags.join(", ")}`);

await imprint.login(bob);
await imprint.readPost(postId).catch(({ code }) => console.log(`Bob may not read it yet: ${code}`));
await send(bob, buyPostCall(marketplace, postId, price));
const { content } = await imprint.readPost(postId);
console.log(`Bob bought a token and reads: ${content.split("\n").at(-1)}`);
