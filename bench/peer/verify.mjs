// Measures how many signed writes per second viem alone verifies: node verify.mjs SIGNATURES.json
import { readFile } from "node:fs/promises";
import { recoverTypedDataAddress } from "viem";

const signed = JSON.parse(await readFile(process.argv[2]));
const verify = async ({ salt, signature, address }) => {
  const recovered = await recoverTypedDataAddress({ ...salt, signature });
  if (recovered.toLowerCase() !== address) throw new Error("another signer");
};
for (const each of signed.slice(0, 50)) await verify(each);
const began = performance.now();
for (const each of signed) await verify(each);
console.log(signed.length / ((performance.now() - began) / 1000));
