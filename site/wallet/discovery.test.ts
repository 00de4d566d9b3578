import assert from "node:assert/strict";
import { test } from "node:test";

// Wallets announce themselves to the window.
Object.assign(globalThis, { window: new EventTarget() });
const { describe, findWallet, onlyWallet, safeIcon } = await import("./discovery.ts");

test("a picture as a data URL is shown", () => {
  for (const type of ["png", "svg+xml", "webp"])
    assert.equal(safeIcon(` data:image/${type};base64,AA\n`), `data:image/${type};base64,AA`);
});

test("only pictures of a reasonable size are shown", () => {
  const others = [
    "https://example.org/icon.png",
    "javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "data:image/png",
    `data:image/png;base64,${"A".repeat(200_001)}`,
    "",
    undefined,
    { toString: () => "data:image/png,1" },
  ];
  for (const icon of others) assert.equal(safeIcon(icon), null);
});

test("a wallet without a name, or with a very long one, gets a suitable name", () => {
  const named = (name: unknown) =>
    describe({ info: { name, rdns: "org.example" }, provider: {} } as never).name;
  assert.equal(named("  "), "A wallet");
  assert.equal(named("long ".repeat(100)).length, 60);
});

const announce = (uuid: string, rdns: string) => {
  const detail = Object.freeze({
    info: Object.freeze({ uuid, name: uuid, icon: "", rdns }),
    provider: {},
  });
  window.dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail }));
};

test("a wallet is found again by its id", async () => {
  announce("one", "org.example");
  assert.equal((await findWallet("org.example"))?.name, "one");
});

test("a wallet is not found again while another one has the same id", async () => {
  announce("first", "org.example.twice");
  announce("second", "org.example.twice");
  assert.equal(await findWallet("org.example.twice"), null);
  const [first, second] = ["first", "second"].map((name) => ({ id: "x", name }) as never);
  assert.equal(onlyWallet([first as never], "x"), first);
  assert.equal(onlyWallet([first as never, second as never], "x"), null);
});
