import assert from "node:assert/strict";
import { test } from "node:test";
import encodeQR from "qr";
import decodeQR from "qr/decode.js";
import { addressForApps, drawCode, isHandheld, WALLET_APPS } from "./apps.ts";

const PAGE = "https://tidewater.example/p/7/a-title?ref=x&y=1#text";

test("every app gets the whole address of the page", () => {
  const links = Object.fromEntries(WALLET_APPS.map(({ name, link }) => [name, link(PAGE)]));
  assert.equal(
    links.MetaMask,
    "https://link.metamask.io/dapp/tidewater.example/p/7/a-title?ref=x&y=1#text",
  );
  const base = new URL(links["Base (Coinbase Wallet)"] ?? "");
  assert.equal(`${base.origin}${base.pathname}`, "https://go.cb-w.com/dapp");
  assert.equal(base.searchParams.get("cb_url"), PAGE);
  const trust = new URL(links["Trust Wallet"] ?? "");
  assert.equal(`${trust.origin}${trust.pathname}`, "https://link.trustwallet.com/open_url");
  assert.deepEqual(Object.fromEntries(trust.searchParams), { coin_id: "60", url: PAGE });
  const okx = new URL(links["OKX Wallet"] ?? "");
  assert.equal(`${okx.origin}${okx.pathname}`, "https://web3.okx.com/download");
  const opening = new URL(okx.searchParams.get("deeplink") ?? "");
  assert.equal(opening.protocol, "okx:");
  assert.equal(opening.searchParams.get("dappUrl"), PAGE);
});

test("phones and tablets are recognised, and desktops are not", () => {
  const android = "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 Mobile Safari";
  const iphone = "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15";
  const mac = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Safari";
  const windows = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome";
  assert.equal(isHandheld({ userAgent: android, maxTouchPoints: 5 }), true);
  assert.equal(isHandheld({ userAgent: iphone, maxTouchPoints: 5 }), true);
  assert.equal(isHandheld({ userAgent: mac, maxTouchPoints: 5 }), true);
  assert.equal(isHandheld({ userAgent: mac, maxTouchPoints: 0 }), false);
  assert.equal(isHandheld({ userAgent: windows, maxTouchPoints: 10 }), false);
});

test("apps are offered only pages that they can open", () => {
  assert.equal(addressForApps(new URL(PAGE) as never), PAGE);
  for (const page of [
    "http://tidewater.example/",
    "https://localhost:8000/",
    "https://dev.localhost/",
    "https://127.0.0.1:8000/",
    "https://[::1]/",
  ])
    assert.equal(addressForApps(new URL(page) as never), null, page);
  assert.equal(addressForApps(new URL("https://127.example/") as never), "https://127.example/");
});

test("the code is a picture that a scanner reads as the address", async () => {
  const picture = await drawCode(PAGE);
  assert.match(picture, /^data:image\/svg\+xml,%3Csvg/);
  assert.equal(
    decodeURIComponent(picture.slice("data:image/svg+xml,".length)),
    encodeQR(PAGE, "svg", { border: 4 }),
  );
  assert.equal(decodeQR(pixelsOf(encodeQR(PAGE, "raw", { border: 4, scale: 4 }))), PAGE);
});

/** The pixels of a QR code, as scanners see it. */
function pixelsOf(modules: readonly (readonly boolean[])[]) {
  const [height, width] = [modules.length, modules[0]?.length ?? 0];
  const data = new Uint8Array(
    modules.flat().flatMap((dark) => (dark ? [0, 0, 0] : [255, 255, 255])),
  );
  return { height, width, data };
}
