// An agent with a spending limit: reads posts, and buys those that it does not hold yet.
//
//   node agent.mjs http://127.0.0.1:8000 POST_ID...
//
// Both prices and the chain's fees count towards the limit. A post that costs more than what is left is
// skipped.
import { Imprint, TooExpensive, formatCoin, httpProvider, parseCoin, walletOfAccount } from "imprint-press";
import { mnemonicToAccount } from "viem/accounts";

const LIMIT = parseCoin("0.02");
// The public mnemonic of development chains: never send its accounts anything of value.
const MNEMONIC = "test test test test test test test test test test test junk";

const [url, ...postIds] = process.argv.slice(2);
const imprint = await Imprint.connect(url);
// Only a development chain names its node. For another chain, use the URL of one.
const node = httpProvider(imprint.facts.chain.rpc_url);
const wallet = walletOfAccount(mnemonicToAccount(MNEMONIC, { addressIndex: 6 }), node);
const countCoins = async () =>
  BigInt(await node.request({ method: "eth_getBalance", params: [wallet.address, "latest"] }));

let left = LIMIT;
for (const postId of postIds) {
  const before = await countCoins();
  try {
    const { content } = await imprint.read(postId, { wallet, pay: true, max: left, node });
    const spent = before - (await countCoins());
    left = left > spent ? left - spent : 0n;
    console.log(`Post ${postId} cost ${formatCoin(spent)}: ${content.split("\n").at(-1)}`);
  } catch (error) {
    if (!(error instanceof TooExpensive)) throw error;
    console.log(`Post ${postId} costs ${formatCoin(error.price)}, which is too much.`);
  }
}
console.log(`${formatCoin(left)} of ${formatCoin(LIMIT)} is left.`);
