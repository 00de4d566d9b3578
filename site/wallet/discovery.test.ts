import assert from "node:assert/strict";
import { test } from "node:test";

// Wallets announce themselves to the window.
Object.assign(globalThis, { window: new EventTarget() });
const { describe, safeIcon } = await import("./discovery.ts");

test("a picture as a data URL is shown", () => {
  for (const type of ["png", "svg+xml", "webp"])
    assert.equal(safeIcon(` data:image/${type};base64,AA\n`), `data:image/${type};base64,AA`);
});

test("nothing but a picture of a sensible size is shown", () => {
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

test("a wallet without a name, or with one that has no end, gets one that fits", () => {
  const named = (name: unknown) =>
    describe({ info: { name, rdns: "org.example" }, provider: {} } as never).name;
  assert.equal(named("  "), "A wallet");
  assert.equal(named("long ".repeat(100)).length, 60);
});
