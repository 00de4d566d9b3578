/** Publishes sample posts the normal way: draft, publication, transaction, purchases. */

import {
  type Address,
  balanceOf,
  buyPostCall,
  createdPostId,
  createPostCall,
  type Imprint,
  type Provider,
  parseCoin,
  type Wallet,
  waitForReceipt,
} from "imprint-press";
import { pause } from "../chain/retries.ts";
import { type Sample, type SampleAuthor, titleOf } from "./posts.ts";

/** Milliseconds between two polls for a receipt: the development chain mines at once. */
const EVERY_MS = 200;

/** Milliseconds that the index may take to show a new post. */
const PATIENCE_MS = 30_000;

interface Person {
  readonly address: Address;
  readonly wallet: Wallet;
}

export interface Progress {
  readonly done: number;
  readonly total: number;
  /** The current action, in a few words. */
  readonly sentence: string;
}

/** The outcome for each sample, by title. */
export interface Filled {
  readonly published: readonly string[];
  readonly existed: readonly string[];
  readonly failed: readonly { readonly title: string; readonly error: unknown }[];
  readonly purchases: number;
}

/** Remembers drafts of samples that are not on the chain yet, so that they are reused. */
export interface DraftMemory {
  recall(title: string): string | null;
  keep(title: string, cid: string | null): void;
}

interface Place {
  readonly imprint: Imprint;
  readonly node: Provider;
  readonly people: readonly Person[];
  readonly drafts: DraftMemory;
  readonly authors: ReadonlyMap<number, SampleAuthor>;
  draw(sample: Sample): Promise<Blob>;
  portray(author: SampleAuthor): Promise<Blob>;
}

/**
 * Publish the missing samples, buy those that nobody bought yet, and introduce their authors.
 *
 * It can be repeated: existing ones are left as they are. A sample that fails does not stop the
 * others.
 */
export async function fill(
  place: Place,
  samples: readonly Sample[],
  onProgress: (progress: Progress) => void,
): Promise<Filled> {
  const published: string[] = [];
  const existed: string[] = [];
  const failed: { title: string; error: unknown }[] = [];
  let purchases = 0;
  const known = await findPublished(place, samples);
  for (const [done, sample] of samples.entries()) {
    const title = titleOf(sample);
    const tell = (sentence: string) => onProgress({ done, total: samples.length, sentence });
    try {
      let id = known.get(title);
      if (id === undefined) {
        tell(`Publishing “${title}”`);
        id = await publish(place, sample);
        published.push(title);
      } else {
        existed.push(title);
      }
      if (sample.buyers.length > 0) tell(`Buying “${title}”`);
      purchases += await buy(place, sample, id);
    } catch (error) {
      failed.push({ title, error });
    }
  }
  const total = samples.length;
  onProgress({ done: total, total, sentence: "Introducing the authors" });
  await introduce(place);
  onProgress({ done: total, total, sentence: "Waiting for the index of posts" });
  await waitForIndex(place, samples, published);
  return { published, existed, failed, purchases };
}

async function findPublished(
  { imprint, people }: Place,
  samples: readonly Sample[],
): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const number of new Set(samples.map((sample) => sample.author))) {
    const author = personAt(people, number).address;
    for await (const post of imprint.listIndexedPosts({ author, limit: 50 }))
      found.set(post.title, post.id);
  }
  return found;
}

/** Give a profile to the authors that have none; one that fails is tried again with the next run. */
async function introduce({ imprint, people, authors, portray }: Place): Promise<void> {
  for (const [number, author] of authors) {
    const { address, wallet } = personAt(people, number);
    try {
      const known = await imprint.showAuthor(address).catch(() => null);
      if (known?.profile) continue;
      const avatar = await portray(author);
      await imprint.updateProfile(wallet, { name: author.name, bio: author.bio, avatar });
    } catch {
      // Posts are readable without it.
    }
  }
}

async function publish(place: Place, sample: Sample): Promise<string> {
  const { imprint, node, people, drafts } = place;
  const { wallet } = personAt(people, sample.author);
  const title = titleOf(sample);
  const hashtags = [...sample.hashtags];
  const thumbnail = await place.draw(sample);
  const prepare = (cid: string) =>
    imprint.publishDraft(wallet, cid, { thumbnail, thumbnailName: "picture.png", hashtags });
  let cid = drafts.recall(title);
  // A draft of an earlier attempt may be gone, with the data folder for example.
  let prepared = cid === null ? null : await prepare(cid).catch(() => null);
  if (cid === null || prepared === null) {
    ({ cid } = await imprint.createDraft(wallet, sample.text));
    drafts.keep(title, cid);
    prepared = await prepare(cid);
  }
  const { marketplace, id: chainId } = imprint.facts.chain;
  const post = {
    cid,
    title,
    thumbnailCid: prepared.thumbnailCid,
    description: sample.description,
    price: parseCoin(sample.price),
    hashtags,
  };
  const call = createPostCall(marketplace, post, chainId);
  const hash = await wallet.sendTransaction(call);
  const receipt = await waitForReceipt(node, hash, { everyMs: EVERY_MS });
  const id = createdPostId(receipt, marketplace);
  if (receipt.status !== "success" || id === null)
    throw new Error(`The marketplace refused to publish “${title}”.`);
  drafts.keep(title, null);
  return id;
}

async function buy(place: Place, sample: Sample, id: string): Promise<number> {
  const { imprint, node, people } = place;
  const { marketplace, id: chainId } = imprint.facts.chain;
  let bought = 0;
  for (const number of sample.buyers) {
    const { address, wallet } = personAt(people, number);
    if ((await balanceOf(node, marketplace, address, id)) > 0n) continue;
    const hash = await wallet.sendTransaction(
      buyPostCall(marketplace, id, parseCoin(sample.price), chainId),
    );
    const receipt = await waitForReceipt(node, hash, { everyMs: EVERY_MS });
    if (receipt.status === "success") bought += 1;
  }
  return bought;
}

/** Wait until lists show the new posts; later they appear on their own. */
async function waitForIndex(
  place: Place,
  samples: readonly Sample[],
  titles: readonly string[],
): Promise<void> {
  const until = Date.now() + PATIENCE_MS;
  while (titles.length > 0 && Date.now() < until) {
    const found = await findPublished(place, samples);
    if (titles.every((title) => found.has(title))) return;
    await pause(EVERY_MS / 1000);
  }
}

function personAt(people: readonly Person[], number: number): Person {
  const person = people[number];
  if (person === undefined) throw new Error(`The development chain has no account ${number}.`);
  return person;
}
