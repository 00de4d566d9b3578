// `imprint-press library`: what an account holds, as files that are readable and checkable alone.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { verifyDocument, verifyProof } from "imprint-press";
import { mnemonicToAccount } from "viem/accounts";
import { MNEMONIC, buyPost, eventually, imprint, makePost, node, openLocal, refusalOf, signIn } from "./world.mjs";

const COMMAND = fileURLToPath(new URL("../../clients/typescript/dist/command.js", import.meta.url));
const REORG_DEPTH = 64;
const READER = 8;

const execute = promisify(execFile);
const run = (...given) => execute(process.execPath, [COMMAND, ...given]);

test("everything that an account holds is saved, with proofs that hold", async (context) => {
  const folder = await mkdtemp(join(tmpdir(), "imprint-library-"));
  context.after(() => rm(folder, { recursive: true }));
  const content = "# Paid\n\nBelow the line, too: 墨.";
  const { postId, file } = await makePost(openLocal(1), { content });
  await buyPost(openLocal(READER), postId, 10n ** 15n);
  await eventually(() => imprint.showPost(postId));
  assert.equal((await refusalOf(imprint.getPostProof(postId))).code, "not_final");
  const reader = await signIn(openLocal(READER));
  await eventually(async () => (await reader.listLibrary().collect()).length > 0);
  for (let mined = 0; mined < REORG_DEPTH; mined += 1) await node.request({ method: "evm_mine", params: [] });
  // A block is final when it is deep enough, and was read twice.
  await eventually(async () => {
    await node.request({ method: "evm_mine", params: [] });
    return imprint.getPostProof(postId);
  });

  const key = mnemonicToAccount(MNEMONIC, { addressIndex: READER }).getHdKey().privateKey;
  const keyFile = join(folder, "key");
  await writeFile(keyFile, `0x${Buffer.from(key).toString("hex")}\n`);
  const output = join(folder, "library");
  const { stdout } = await run("library", imprint.url, "--key-file", keyFile, "--output", output);
  assert.match(stdout, /^\d+ posts are in /);

  const saved = join(output, "posts", (await readdir(join(output, "posts"))).find((name) => name.startsWith(`${postId}-`)));
  assert.ok((await readFile(join(saved, "post.md"), "utf8")).endsWith(`${content}\n`));
  assert.ok(await verifyDocument(await readFile(join(saved, "document.json")), file.cid));
  const proof = JSON.parse(await readFile(join(saved, "proof.json"), "utf8"));
  assert.equal(proof.cid, file.cid);
  const { chain } = imprint.facts;
  assert.ok(await verifyProof(node, proof, chain));
  assert.ok(!(await verifyProof(node, { ...proof, author: openLocal(2).address }, chain)));
  assert.ok(!(await verifyProof(node, proof, { ...chain, marketplace: openLocal(2).address })));

  await assert.rejects(run("library", imprint.url, "--key-file", keyFile, "--output", output), /exist/);
  await assert.rejects(run("library", imprint.url), /Usage/);
});
