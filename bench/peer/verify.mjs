// Prints the seconds of processor time in which viem alone verifies a signed write:
// node verify.mjs SIGNATURES.json
import { readFile } from "node:fs/promises";
import { recoverTypedDataAddress } from "viem";

const signed = JSON.parse(await readFile(process.argv[2]));
const verify = async ({ salt, signature, address }) => {
  const recovered = await recoverTypedDataAddress({ ...salt, signature });
  if (recovered.toLowerCase() !== address) throw new Error("another signer");
};
for (const each of signed.slice(0, 50)) await verify(each);
const began = process.cpuUsage();
for (const each of signed) await verify(each);
const { user, system } = process.cpuUsage(began);
console.log((user + system) / 1e6 / signed.length);
