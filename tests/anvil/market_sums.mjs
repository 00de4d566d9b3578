// Prints the sums of the marketplace's logs, and the balances of the contract. Usage: node
// market_sums.mjs <rpc url> <marketplace> < abi.json
import { readFileSync } from "node:fs";
import { createPublicClient, http, parseEventLogs, zeroAddress } from "viem";

const [url, address] = process.argv.slice(2);
const abi = JSON.parse(readFileSync(0, "utf8"));
const transport = http(url, { batch: { batchSize: 500 }, timeout: 120_000 });
const client = createPublicClient({ transport });

const latest = await client.getBlockNumber();
const logs = [];
for (let first = 0n; first <= latest; first += 20n) {
  const last = first + 19n < latest ? first + 19n : latest;
  const found = await client.getLogs({ address, fromBlock: first, toBlock: last });
  logs.push(...parseEventLogs({ abi, logs: found }));
}

const sums = { posts: {}, sales: {}, volume: {}, spent: {}, prices: {}, moved: {}, purchases: 0 };
const add = (table, key, amount) => {
  table[key] = (table[key] ?? 0n) + amount;
};
for (const { eventName, args } of logs) {
  if (eventName === "PostCreated") {
    sums.posts[args.tokenId] = args.author.toLowerCase();
    sums.prices[args.tokenId] = args.costInNativeInWei;
  } else if (eventName === "PostSubscribed") {
    sums.purchases += 1;
    add(sums.sales, args.tokenId, 1n);
    add(sums.volume, args.tokenId, args.totalCost);
    add(sums.spent, args.subscriber.toLowerCase(), args.totalCost);
  } else if (eventName === "PostPriceUpdated") {
    sums.prices[args.tokenId] = args.newPrice;
  } else if (eventName === "Transfer") {
    const { sender, receiver, id, amount } = args;
    if (sender !== zeroAddress) add(sums.moved, `${sender.toLowerCase()} ${id}`, -amount);
    if (receiver !== zeroAddress) add(sums.moved, `${receiver.toLowerCase()} ${id}`, amount);
  }
}

const keys = Object.keys(sums.moved);
sums.balances = {};
for (let start = 0; start < keys.length; start += 500) {
  const some = keys.slice(start, start + 500);
  const found = await Promise.all(
    some.map((key) => {
      const [holder, id] = key.split(" ");
      return client.readContract({
        address, abi, functionName: "balanceOf", args: [holder, BigInt(id)],
      });
    }),
  );
  some.forEach((key, index) => (sums.balances[key] = found[index]));
}
sums.logs = logs.length;
const text = (key, value) => (typeof value === "bigint" ? value.toString() : value);
console.log(JSON.stringify(sums, text));
