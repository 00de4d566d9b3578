/** Sample posts for `imprint dev`; loaded on demand. */

import { facts } from "../page/facts.ts";
import { imprint } from "../page/service.ts";
import { recall, remember } from "../page/storage.ts";
import { developmentAccounts, developmentNode } from "../wallet/development.ts";
import { renderPicture, renderPortrait } from "./pictures.ts";
import { AUTHORS, SAMPLES, type SampleAuthor } from "./posts.ts";
import { type DraftMemory, type Filled, fill, type Progress } from "./publisher.ts";

export type { Filled, Progress } from "./publisher.ts";

/** The storage key of an interrupted run's drafts, for this chain and contract. */
const keyOf = (title: string): string => `imprint.sample.${facts.chain.marketplace}.${title}`;

const drafts: DraftMemory = {
  recall: (title) => recall<string>(keyOf(title)),
  keep: (title, cid) => remember(keyOf(title), cid),
};

/**
 * Publish a dozen posts by several accounts of the development chain, and buy some of them.
 *
 * Existing ones are left as they are. Throws if this is not `imprint dev`, or if its node does not
 * respond.
 */
export async function fillWithSamples(onProgress: (progress: Progress) => void): Promise<Filled> {
  const node = developmentNode;
  if (node === null) throw new Error("Sample posts are for imprint dev only.");
  const people = await developmentAccounts();
  const draw = ({ picture }: (typeof SAMPLES)[number]) => renderPicture(picture);
  const portray = ({ portrait }: SampleAuthor) => renderPortrait(portrait);
  const place = { imprint, node, people, drafts, authors: AUTHORS, draw, portray };
  return fill(place, SAMPLES, onProgress);
}
