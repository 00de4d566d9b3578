// Publish a post and sell it: the whole walk against `imprint dev`, as a page would do it.
//
//   npm ci && node walk.mjs [http://127.0.0.1:8000]
import { readFile } from "node:fs/promises";
import { createWalletClient, http, parseEther } from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { foundry } from "viem/chains";
import { Imprint } from "./imprint.mjs";

const imprint = await Imprint.connect(process.argv[2] ?? "http://127.0.0.1:8000");

// The public mnemonic of development chains. In a page: createWalletClient({ account, chain,
// transport: custom(window.ethereum) }).
const open = (addressIndex) =>
  createWalletClient({
    account: mnemonicToAccount("test test test test test test test test test test test junk", { addressIndex }),
    chain: foundry,
    transport: http(imprint.facts.chain.rpc_url),
    pollingInterval: 100,
  });
const [alice, bob] = [open(1), open(2)];

let draft = await imprint.createDraft(alice, "# Hello\n\nA first line.");
draft = await imprint.updateDraft(alice, draft.cid, "# Hello\n\nA first line, and a better second.");
console.log(`Alice has a draft: ${draft.cid}`);

const cover = new Blob([await readFile(new URL("cover.png", import.meta.url))]);
const hashtags = ["essays", "hello"];
const thumbnailCid = await imprint.publishDraft(alice, draft.cid, cover, hashtags);
const price = parseEther("0.01");
const postId = await imprint.createPost(alice, { cid: draft.cid, title: "Hello", thumbnailCid, price, hashtags });
const post = await imprint.waitForPost(draft.cid);
console.log(`It is post ${postId} now, tagged ${post.hashtags.join(", ")}`);

const session = await imprint.signIn(bob);
await imprint.readPost(session, postId).catch(({ code }) => console.log(`Bob may not read it yet: ${code}`));
await imprint.buyPost(bob, postId, price);
const { content } = await imprint.readPost(session, postId);
console.log(`Bob bought a token and reads: ${content.split("\n").at(-1)}`);
