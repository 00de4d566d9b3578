// A service that accepts the signatures of the earlier front end, under its domain name.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Imprint } from "imprint-press";
import { cover, imprint, openStranger, refusalOf } from "./world.mjs";

const open = (options) => new Imprint(imprint.url, imprint.facts, options);

test("every action is signed in the form inkdao-1, under the name that the service has for it", async () => {
  const [wallet, earlier] = [openStranger(), open({ form: "inkdao-1" })];
  let { cid } = await earlier.createDraft(wallet, "# Words", { title: "Words" });
  ({ cid } = await earlier.updateDraft(wallet, cid, "# More words"));
  assert.ok((await earlier.publishDraft(wallet, cid, { thumbnail: cover, hashtags: [] })).thumbnailCid);
  assert.equal((await earlier.deleteDraft(wallet, cid)).status, "deleted");
});

test("the name applies to that form only", async () => {
  const bound = open();
  assert.ok((await bound.createDraft(openStranger(), "# Words")).cid);
  const other = open({ form: "inkdao-1", domainName: "Imprint" });
  const refusal = await refusalOf(other.createDraft(openStranger(), "# Words"));
  assert.equal(refusal.code, "invalid_typed_data");
});
