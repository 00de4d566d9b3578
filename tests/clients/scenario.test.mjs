// The scenario of all clients, step by step: clients/scenario.json defines its words.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import {
  Imprint,
  List,
  MemoryKeyStore,
  balanceOf,
  buyManyCall,
  buyPostCall,
  changePriceCall,
  createPostCall,
  createdPostId,
  formatCoin,
  parseCoin,
  resumeWritingSession,
  verifyDocument,
  waitForReceipt,
} from "imprint-press";
import { cover, imprint, node, openLocal, openStranger, refusalOf } from "./world.mjs";

const { people, steps } = JSON.parse(await readFile(new URL("../../clients/scenario.json", import.meta.url)));
const { marketplace } = imprint.facts.chain;
const ATTEMPTS = 150;

/** Somebody with a wallet, a client and, once it is opened, a writing session. */
class Person {
  keyStore = new MemoryKeyStore();

  constructor(index) {
    this.wallet = index === "new" ? openStranger() : openLocal(index);
    this.client = new Imprint(imprint.url, imprint.facts);
  }

  /** The client that signs in a form, with the same session. */
  signing(form) {
    const client = new Imprint(imprint.url, imprint.facts, form ? { form } : {});
    return client.as(this.client.session);
  }
}

const transact = async ({ wallet }, call) => {
  const receipt = await waitForReceipt(node, await wallet.sendTransaction(call), { everyMs: 50 });
  return { status: receipt.status, postId: createdPostId(receipt, marketplace) };
};

/** Calls that do not take their arguments one by one. */
const CALLS = {
  login: ({ client, wallet }) => client.login(wallet),
  logout: ({ client }, given) => client.logout(given),
  createDraft: ({ client, signer }, { content }) => client.createDraft(signer, content),
  updateDraft: ({ client, signer }, { cid, content }) => client.updateDraft(signer, cid, content),
  deleteDraft: ({ client, signer }, { cid }) => client.deleteDraft(signer, cid),
  publishDraft: ({ client, signer }, { cid, hashtags }) => client.publishDraft(signer, cid, { thumbnail: cover, hashtags }),
  revisePost: ({ client, wallet }, { id, content, note }) => client.revisePost(wallet, id, content, { note }),
  readPostContent: ({ client }, { id, ...given }) => client.readPostContent(id, given),
  updateProfile: ({ client, wallet }, { avatar, ...texts }) => client.updateProfile(wallet, { ...texts, ...(avatar && { avatar: cover }) }),
  async openWritingSession(person, given) {
    const options = { ...given, keyStore: person.keyStore };
    person.owner.writing = await person.client.openWritingSession(person.wallet, options);
    assert.equal((await resumeWritingSession(person.client, person.keyStore, person.wallet)).id, person.owner.writing.id);
    return person.owner.writing.record;
  },
  saveDraft: ({ client, owner }, { content, cid }) => client.saveDraft(owner.writing, content, cid),
  listDrafts: ({ client }, given) => client.listDrafts(given),
  listPosts: ({ client }, given) => client.listPosts(given),
  listIndexedPosts: ({ client }, given) => client.listIndexedPosts(given),
  listLibrary: ({ client }, given) => client.listLibrary(given),
  listSales: ({ client }, given) => client.listSales(given),
  salesCsv: ({ client }, given) => client.salesCsv(given),
  getPrivateFeedJson: ({ client }, { address }) => client.getPrivateFeedJson(/private\/(.+)\.json$/.exec(address)[1]),
  getPrivateFeedAtom: ({ client }, { address }) => client.getPrivateFeedAtom(/private\/(.+)\.atom$/.exec(address)[1]),
  createPost: (person, { price, ...post }) => transact(person, createPostCall(marketplace, { ...post, price: BigInt(price) })),
  buyPost: (person, { postId, price }) => transact(person, buyPostCall(marketplace, postId, BigInt(price))),
  givePost: (person, { postId, receiver, price }) => transact(person, buyManyCall(imprint.facts.chain.adapter, [postId], receiver, BigInt(price))),
  changePrice: (person, { postId, price }) => transact(person, changePriceCall(marketplace, postId, BigInt(price))),
  balanceOf: async ({ wallet }, { postId }) => String(await balanceOf(node, marketplace, wallet.address, postId)),
  async verifyDocument({ client }, { cid }) {
    return { verified: await verifyDocument((await client.fetchDocument(cid)).bytes, cid) };
  },
  formatCoin: (_, { wei }) => formatCoin(wei),
  parseCoin: (_, { text }) => String(parseCoin(text)),
};

async function run({ call, as, form, signer }, given) {
  const somebody = everybody[as] ?? { client: nobody };
  const client = form ? somebody.signing(form) : somebody.client;
  const acting = { ...somebody, owner: somebody, client, signer: signer ? somebody.writing : somebody.wallet };
  const found = await (CALLS[call] ? CALLS[call](acting, given) : client[call](...Object.values(given)));
  if (!(found instanceof List)) return found;
  const pages = [];
  for await (const page of found.pages()) pages.push(page.items);
  assert.deepEqual(await found.collect(), pages.flat());
  return { items: pages.flat(), pages: pages.length };
}

const saved = {};
const fill = (value) => {
  if (typeof value === "string" && value.startsWith("$")) {
    assert.ok(value.slice(1) in saved, `Nothing is saved as ${value}`);
    return saved[value.slice(1)];
  }
  return value;
};

const find = (result, path) =>
  (typeof result === "object" && result !== null ? path.split(".") : []).reduce((found, name) => found?.[name], result);

function check(result, expected = {}) {
  for (const [path, wanted] of Object.entries(expected)) {
    const found = find(result, path);
    if (wanted?.matches) assert.match(found, new RegExp(wanted.matches), path);
    else assert.deepEqual(found, fill(wanted), path);
  }
}

async function attempt(step, given) {
  const result = await run(step, given);
  check(result, step.expect);
  for (const [name, path] of Object.entries(step.save ?? {})) saved[name] = find(result, path);
}

const nobody = new Imprint(imprint.url, imprint.facts);
const everybody = Object.fromEntries(Object.entries(people).map(([name, index]) => [name, new Person(index)]));
for (const [name, { wallet }] of Object.entries(everybody)) saved[`${name}.address`] = wallet.address.toLowerCase();

test("the scenario", async (context) => {
  for (const step of steps) {
    await context.test(step.step, async () => {
      const given = Object.fromEntries(Object.entries(step.with ?? {}).map(([name, value]) => [name, fill(value)]));
      if (step.refused) {
        assert.equal((await refusalOf(run(step, given))).code, step.refused);
        return;
      }
      for (let left = step.eventually ? ATTEMPTS : 1; left > 1; left -= 1) {
        try {
          return await attempt(step, given);
        } catch {
          await sleep(100);
        }
      }
      await attempt(step, given);
    });
  }
});
