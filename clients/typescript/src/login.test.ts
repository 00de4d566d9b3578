import assert from "node:assert/strict";
import { test } from "node:test";
import { ImprintReader } from "./reader.js";
import type { ServiceFacts } from "./records.js";

const ADDRESS = "0x00000000000000000000000000000000000000AA";

test("a login is for the service that is asked, whatever service it claims to be", async () => {
  const facts = { service: "https://other.example", chain: { id: 1 }, now: 1_750_000_000 };
  const fetch = async () => Response.json({ address: ADDRESS, token: "t", expiresAt: "" });
  const reader = new ImprintReader("https://asked.example/at", facts as unknown as ServiceFacts, {
    fetch,
  });
  const signed: string[] = [];
  const wallet = {
    address: ADDRESS,
    signMessage: async (message: string) => {
      signed.push(message);
      return "0x01";
    },
  } as const;
  await reader.login(wallet as never);
  assert.match(signed[0] ?? "", /^asked\.example wants you to sign in/);
  assert.match(signed[0] ?? "", /^URI: https:\/\/asked\.example$/m);
  await reader.login(wallet as never, { origin: "https://page.example" });
  assert.match(signed[1] ?? "", /^page\.example wants/);
});
