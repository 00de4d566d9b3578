#!/usr/bin/env node
/** `imprint-press library`: saves everything that an account holds as files. */

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { privateKeyToAccount } from "viem/accounts";
import { Imprint } from "./imprint.js";
import { exportLibrary } from "./library.js";
import { Refusal, Unreachable } from "./problems.js";
import type { Hex } from "./records.js";
import { walletOfAccount } from "./wallet.js";

const USAGE = `Usage: imprint-press library URL --key-file FILE --output FOLDER

Saves every post that an account holds at the service: the text as Markdown, the
document, and the proof from the chain. The key signs one message to sign in.

  --key-file FILE    a file with the private key of the account, in hexadecimal
  --output FOLDER    a new folder for the files`;

async function main(): Promise<void> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { "key-file": { type: "string" }, output: { type: "string" } },
  });
  const [command, url, ...others] = positionals;
  const { "key-file": keyFile, output } = values;
  if (command !== "library" || !url || others.length > 0 || !keyFile || !output)
    throw new TypeError(USAGE);
  const key = (await readFile(keyFile, "utf-8")).trim();
  if (!/^(0x)?[0-9a-f]{64}$/i.test(key)) throw new TypeError(`${keyFile} has no private key.`);
  const hex: Hex = `0x${key.replace(/^0x/i, "")}`;
  const imprint = await Imprint.connect(url);
  await imprint.login(walletOfAccount(privateKeyToAccount(hex)));
  // Nothing is overwritten: a second download needs another folder.
  await mkdir(output);
  let posts = 0;
  const onPost = (done: number, all: number) => {
    posts = all;
    if (process.stderr.isTTY) process.stderr.write(`\r${done} of ${all} posts`);
  };
  for await (const { path, content } of exportLibrary(imprint, { onPost })) {
    const file = join(output, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
  }
  await imprint.logout();
  console.log(`${posts} posts are in ${output}. Begin with README.md.`);
}

main().catch((error: unknown) => {
  const known = [Refusal, Unreachable, TypeError].some((kind) => error instanceof kind);
  const isSystem = error instanceof Error && "code" in error;
  console.error(known || isSystem ? (error as Error).message : error);
  process.exitCode = 1;
});
