// Prints viem's verdicts on signatures: true or false for each line of the input. Usage: node
// verify_signatures.mjs <rpc url> < questions.jsonl
import { createInterface } from "node:readline";
import { createPublicClient, http } from "viem";
import { foundry } from "viem/chains";

const client = createPublicClient({ chain: foundry, transport: http(process.argv[2], { timeout: 60_000 }) });

for await (const line of createInterface({ input: process.stdin })) {
  const { address, text, envelope, signature } = JSON.parse(line);
  const verdict = envelope
    ? await client.verifyTypedData({ address, signature, ...envelope })
    : await client.verifyMessage({ address, signature, message: text });
  console.log(verdict);
}
