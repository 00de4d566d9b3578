// Reads a batch of cases from each line of the input, and writes a line with their results.
import { createInterface } from "node:readline";

/** Answer each case with the function of its subject. What it throws is a refusal. */
export async function serve(subjects) {
  for await (const line of createInterface({ input: process.stdin })) {
    const { subject, cases } = JSON.parse(line);
    const results = [];
    for (const each of cases) {
      try {
        results.push((await subjects[subject](each)) ?? null);
      } catch (error) {
        results.push({ refused: String(error.message ?? error.error?.type ?? error).split("\n")[0] });
      }
    }
    process.stdout.write(`${JSON.stringify(results)}\n`);
  }
}
