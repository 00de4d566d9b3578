import "../../../page/page-double.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  BlobReader,
  BlobWriter,
  TextReader,
  ZipWriter,
} from "@zip.js/zip.js/lib/zip-core-custom.js";
import { cleanPath, decodeText, listFiles, pictureType } from "./files.ts";
import { LIMITS, Unreadable } from "./limits.ts";

/** A zip with these entries. */
async function zipOf(entries: Readonly<Record<string, string | Blob>>): Promise<Blob> {
  const writer = new ZipWriter(new BlobWriter("application/zip"), { useWebWorkers: false });
  for (const [name, content] of Object.entries(entries)) {
    const reader = typeof content === "string" ? new TextReader(content) : new BlobReader(content);
    await writer.add(name, reader, { useWebWorkers: false });
  }
  return writer.close();
}

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

test("files and the entries of zips form one list", async () => {
  const zip = await zipOf({ "a/b.md": "In a zip", "__MACOSX/x": "noise" });
  const { files, notes } = await listFiles([
    { path: "blog.zip", blob: zip },
    { path: "c.md", blob: new Blob(["Beside it"]) },
  ]);
  assert.deepEqual(
    files.map(({ path }) => path),
    ["a/b.md", "c.md"],
  );
  const read = await Promise.all(files.map((file) => file.read(LIMITS.text)));
  assert.deepEqual(read.map(text), ["In a zip", "Beside it"]);
  assert.deepEqual(notes, []);
});

test("entries whose names lead out of their folder are left out and reported", async () => {
  const zip = await zipOf({ "../../etc/passwd": "x", "/root.md": "x", "good.md": "x" });
  const { files, notes } = await listFiles([{ path: "a.zip", blob: zip }]);
  assert.deepEqual(
    files.map(({ path }) => path),
    ["good.md"],
  );
  assert.deepEqual(notes, ["a.zip: 2 entries with unsafe names left out."]);
  for (const path of ["..\\x", "C:\\x", "/x", "a/../b", "a\0b"])
    assert.equal(cleanPath(path), null);
  assert.equal(cleanPath("./a//b.md"), "a/b.md");
});

test("an entry that inflates like a zip bomb is stopped", async () => {
  const zip = await zipOf({ "bomb.md": new Blob([new Uint8Array(3 * 1024 * 1024)]) });
  const { files } = await listFiles([{ path: "a.zip", blob: zip }]);
  await assert.rejects(files[0]?.read(LIMITS.text) ?? Promise.resolve(), (error: Error) => {
    assert.ok(error instanceof Unreadable);
    assert.match(error.message, /packed like a zip bomb/);
    return true;
  });
});

test("an entry is limited by its actual size, whatever its header says", async () => {
  const zip = await zipOf({ "long.md": "A long text, and not a small one" });
  const bytes = new Uint8Array(await zip.arrayBuffer());
  const view = new DataView(bytes.buffer);
  const directory = view.getUint32(bytes.length - 22 + 16, true);
  // The sizes in the directory, which readers believe.
  view.setUint32(directory + 24, 4, true);
  const { files } = await listFiles([{ path: "a.zip", blob: new Blob([bytes]) }]);
  await assert.rejects(files[0]?.read(10) ?? Promise.resolve(), Unreadable);
});

test("the total size of all entries is limited", async () => {
  const zip = await zipOf({ "a.md": "12345", "b.md": "67890" });
  const limits = { ...LIMITS, inflated: 8 };
  const { files } = await listFiles([{ path: "a.zip", blob: zip }], limits);
  await files[0]?.read(LIMITS.text);
  await assert.rejects(files[1]?.read(LIMITS.text) ?? Promise.resolve(), /more than/);
});

test("too many entries are refused as a whole", async () => {
  const zip = await zipOf(
    Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`${n}.md`, ""])),
  );
  await assert.rejects(
    listFiles([{ path: "a.zip", blob: zip }], { ...LIMITS, files: 10 }),
    /more than 10 files/,
  );
});

test("a broken zip is reported by its name", async () => {
  await assert.rejects(
    listFiles([{ path: "half.zip", blob: new Blob(["PK\x03\x04 and no more"]) }]),
    /half\.zip can’t be read as a zip file/,
  );
});

test("texts are decoded whatever their encoding, without control characters", () => {
  assert.deepEqual(decodeText(Uint8Array.of(0x63, 0x61, 0x66, 0xe9)), {
    text: "café",
    isOld: true,
  });
  assert.equal(decodeText(Uint8Array.of(0xff, 0xfe, 0x61, 0)).text, "a");
  assert.equal(decodeText(new TextEncoder().encode("\ufeffa\0\r\nb\u0008")).text, "a\nb");
});

test("pictures are recognised by their bytes, and SVG is not accepted", () => {
  assert.equal(pictureType(Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0)), "image/png");
  assert.equal(pictureType(new TextEncoder().encode("<svg onload='alert(1)'>")), null);
});
