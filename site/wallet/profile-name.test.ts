import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { standInForPage } from "../page/page-double.ts";

const ANN = "0x00000000000000000000000000000000000000A1";
const page = standInForPage({ chain: { id: 31337 }, signing_forms: ["imprint-2"] });
let respond: () => Response | Promise<Response> = () => author("Ann");
let reads = 0;
Object.assign(globalThis, {
  fetch: async () => {
    reads += 1;
    return respond();
  },
});
const { forgetName, keepName, loadName, nameOf } = await import("./profile-name.ts");

const author = (name: string) => Response.json({ address: ANN, profile: { name } });

beforeEach(() => {
  forgetName();
  reads = 0;
  respond = () => author("Ann");
});

test("a name is read once, and again when it is old", async (context) => {
  context.mock.timers.enable({ apis: ["Date"], now: 1_700_000_000_000 });
  await loadName(ANN);
  await loadName(ANN);
  assert.deepEqual([nameOf(ANN), reads], ["Ann", 1]);
  context.mock.timers.tick(60 * 60 * 1000);
  respond = () => author("Anna");
  await loadName(ANN);
  assert.deepEqual([nameOf(ANN), reads], ["Anna", 2]);
});

test("a name is read again after a failed read", async () => {
  respond = () => Promise.reject(new TypeError("Failed to fetch"));
  await loadName(ANN);
  assert.equal(nameOf(ANN), null);
  respond = () => author("Ann");
  await loadName(ANN);
  assert.equal(nameOf(ANN), "Ann");
});

test("two reads at once are one request", async () => {
  await Promise.all([loadName(ANN), loadName(ANN)]);
  assert.equal(reads, 1);
});

test("a read that ends after signing out, here or in another tab, stores nothing", async () => {
  for (const signOut of [forgetName, () => void loadName(null)]) {
    respond = () => {
      signOut();
      return author("Ann");
    };
    await loadName(ANN);
    assert.deepEqual([nameOf(ANN), page.memory.has("imprint.name")], [null, false]);
  }
});

test("a read does not undo a name that was saved meanwhile", async () => {
  respond = () => {
    keepName(ANN, "Anna");
    return author("Ann");
  };
  await loadName(ANN);
  assert.equal(nameOf(ANN), "Anna");
});
