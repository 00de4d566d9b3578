import "../../page/page-double.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ContainedPicture, FoundPost } from "./formats/found-post.ts";
import { Unreadable } from "./formats/limits.ts";
import type { ImportRecord } from "./import-state.ts";
import { Importer, type ImportPorts, type SaveOutcome } from "./importer.ts";

const PNG = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 1, 2, 3);

const postOf = (source: string, part: Partial<FoundPost> = {}): FoundPost => ({
  format: "Ghost",
  source,
  title: source,
  description: "",
  text: `Text of ${source}`,
  tags: [],
  date: null,
  address: null,
  remarks: [],
  losses: [],
  linkedPictures: [],
  pictures: [],
  signedBy: null,
  ...part,
});

/** A browser and a service: they survive a reload, importers do not. */
class World {
  readonly records = new Map<string, ImportRecord>();
  readonly texts = new Map<string, string>();
  readonly drafts: string[] = [];
  posts: FoundPost[] = [];
  isBusyElsewhere = false;
  contentLimit = 100_000;
  /** What the next saves do instead of succeeding. */
  failures: (SaveOutcome | "success" | "crash" | "crash-after")[] = [];

  open(): Importer {
    const ports: ImportPorts = {
      account: "0xa",
      contentLimit: this.contentLimit,
      read: async (_, { onPost }) => {
        for (const [index] of this.posts.entries()) await onPost(index + 1);
        return { posts: this.posts, notes: [] };
      },
      encode: async (picture, room) => {
        if (picture.size > room) throw new Error("No room.");
        return `data:${picture.type};base64,AA`;
      },
      records: async () => [...this.records.values()],
      putRecord: async (record) => void this.records.set(record.source, record),
      removeRecord: async (source) => void this.records.delete(source),
      keepText: async (key, _, text) => void this.texts.set(key, text),
      keptKeys: async () => new Set(this.texts.keys()),
      save: async (key) => {
        const failure = this.failures.shift();
        if (failure === "crash") throw new Error("The page was closed.");
        if (typeof failure === "object") return failure;
        this.drafts.push(this.texts.get(key) ?? "");
        this.texts.delete(key);
        if (failure === "crash-after") throw new Error("The page was closed.");
        return { kind: "saved", key: `group-${this.drafts.length}` };
      },
      allowSaves: async () => undefined,
      alone: async (run) => {
        if (this.isBusyElsewhere) return false;
        await run();
        return true;
      },
      pause: async () => undefined,
      explain: (error) => (error as Error).message,
    };
    return new Importer(ports);
  }

  async import(importer = this.open()): Promise<Importer> {
    await importer.resume();
    await importer.read([{ path: "a.json", blob: new Blob() }], null);
    await importer.run();
    return importer;
  }
}

const worldOf = (...sources: string[]): World => {
  const world = new World();
  world.posts = sources.map((source) => postOf(source));
  return world;
};

test("every post becomes one draft, and a second import makes none", async () => {
  const world = worldOf("a", "b", "c");
  await world.import();
  assert.deepEqual(world.drafts, [
    "# a\n\nText of a\n",
    "# b\n\nText of b\n",
    "# c\n\nText of c\n",
  ]);
  const again = await world.import();
  assert.equal(world.drafts.length, 3);
  assert.ok(again.state.value.items.every(({ standing }) => standing.kind === "made"));
});

for (const moment of ["crash", "crash-after"] as const)
  test(`an import that ends by a ${moment} continues without files or duplicates`, async () => {
    const world = worldOf("a", "b", "c");
    world.failures = ["success", moment];
    await world.import();
    const resumed = world.open();
    await resumed.resume();
    await resumed.run();
    assert.deepEqual(world.drafts.toSorted(), [
      "# a\n\nText of a\n",
      "# b\n\nText of b\n",
      "# c\n\nText of c\n",
    ]);
    assert.equal((await world.import()).state.value.problem, null);
    assert.equal(world.drafts.length, 3);
  });

test("a refusal of one text does not affect others, but a refusal of all texts stops", async () => {
  const world = worldOf("a", "b");
  world.failures = [{ kind: "refused", sentence: "Too large.", isForAll: false }];
  const importer = await world.import();
  assert.equal(world.drafts.length, 1);
  assert.match(importer.state.value.problem ?? "", /^1 post couldn’t be imported/);
  const full = worldOf("a", "b");
  full.failures = [{ kind: "refused", sentence: "No space.", isForAll: true }];
  const stopped = await full.import();
  assert.deepEqual([full.drafts.length, stopped.state.value.problem], [0, "No space."]);
  await stopped.run();
  assert.equal(full.drafts.length, 2);
});

test("posts that are not chosen are not imported", async () => {
  const world = worldOf("a", "b");
  const importer = world.open();
  await importer.read([{ path: "a.json", blob: new Blob() }], null);
  importer.dispatch({ kind: "choose", source: "a", isChosen: false });
  await importer.run();
  assert.deepEqual(world.drafts, ["# b\n\nText of b\n"]);
});

test("a forgotten post is imported again", async () => {
  const world = worldOf("a");
  const importer = await world.import();
  await importer.forget("a");
  await importer.run();
  assert.equal(world.drafts.length, 2);
});

test("an import does not start while another tab is importing", async () => {
  const world = worldOf("a");
  world.isBusyElsewhere = true;
  const importer = await world.import();
  assert.match(importer.state.value.problem ?? "", /^Another tab/);
  assert.equal(world.drafts.length, 0);
});

test("pictures of the archive are put into the text, and unusable ones are named", async () => {
  const pictureOf = (name: string, bytes: Uint8Array): ContainedPicture => ({
    name,
    read: async () => bytes,
  });
  const world = new World();
  world.posts = [
    postOf("a", {
      text: "![One](imported-picture:0)\n\n![Two](imported-picture:1)",
      pictures: [
        pictureOf("images/one.png", PNG),
        pictureOf("images/two.svg", new TextEncoder().encode("<svg onload=x>")),
      ],
    }),
  ];
  await world.import();
  assert.deepEqual(world.drafts, [
    "# a\n\n![One](data:image/png;base64,AA)\n\nTwo\n\n*Missing pictures: two.svg.*\n",
  ]);
});

test("a text that is too large fails alone", async () => {
  const world = new World();
  world.contentLimit = 100;
  world.posts = [postOf("a", { text: "x".repeat(200) }), postOf("b")];
  const importer = await world.import();
  assert.deepEqual(world.drafts, ["# b\n\nText of b\n"]);
  assert.deepEqual(importer.state.value.items[0]?.standing, {
    kind: "failed",
    sentence: "The text is too large for a draft.",
  });
});

test("files that cannot be read are reported with the reason", async () => {
  const world = worldOf("a");
  const importer = world.open();
  world.posts = new Proxy([], {
    get: () => {
      throw new Unreadable("a.zip is not a zip file.");
    },
  });
  await importer.read([{ path: "a.zip", blob: new Blob() }], null);
  assert.deepEqual(
    [importer.state.value.phase, importer.state.value.problem],
    ["idle", "a.zip is not a zip file."],
  );
});
