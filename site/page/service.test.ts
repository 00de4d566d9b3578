import assert from "node:assert/strict";
import { test } from "node:test";
import { standInForPage } from "./page-double.ts";

const page = standInForPage({ chain: { id: 31337 }, signing_forms: ["imprint-2"] });
page.memory.set("imprint.clock", "-7200");
const { reader } = await import("./session.ts");
const { imprint } = await import("./service.ts");

test("opening the Studio leaves the stored clock as it is", () => {
  assert.equal(page.memory.get("imprint.clock"), "-7200");
});

test("the clients of a page share one clock", () => {
  assert.ok(Math.abs(imprint.now() - (Date.now() / 1000 - 7200)) < 5);
  imprint.setClock(Date.now() / 1000 + 3600);
  assert.ok(reader.now() > Date.now() / 1000 + 3000);
  assert.equal(page.memory.get("imprint.clock"), "3600");
});
