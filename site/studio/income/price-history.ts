/** Changes of a post's price, from the logs of the marketplace. */

import type { Address, Hex, Post, Provider } from "imprint-press";

interface PricePoint {
  readonly block: number;
  /**
   * The time of the block, ISO 8601; null if it was not requested or the node has not returned it.
   */
  readonly at: string | null;
  readonly from: string;
  readonly to: string;
}

export interface PriceHistory {
  /** The newest first. */
  readonly changes: readonly PricePoint[];
  /** The first block that was searched; later than the post if the node refuses more. */
  readonly since: number;
}

/** The topic of `PostPriceUpdated`. */
const PRICE_UPDATED = "0xad528c798f61306a244b88624c5d602fa1fa8cc73bd73c40b6ad5920ff9cc817";

/** The block range that nodes with limits still search at once. */
const FEW_BLOCKS = 9_000;

/** Blocks whose dates are read: the newest; earlier changes are shown with their block number. */
const DATED_BLOCKS = 20;

/** Read all changes since the post, or in the latest blocks if that is too much for the node. */
export async function readPriceHistory(
  provider: Provider,
  marketplace: Address,
  post: Post,
): Promise<PriceHistory> {
  const newest = Number(await provider.request({ method: "eth_blockNumber", params: [] }));
  const first = post.block.number;
  const recent = Math.max(first, newest - FEW_BLOCKS);
  const read = async (from: number) =>
    withDates(provider, await readChanges(provider, marketplace, post.id, from));
  try {
    return { changes: await read(first), since: first };
  } catch (error) {
    if (recent === first) throw error;
    return { changes: await read(recent), since: recent };
  }
}

async function readChanges(
  provider: Provider,
  marketplace: Address,
  postId: string,
  from: number,
): Promise<PricePoint[]> {
  const topics = [PRICE_UPDATED, `0x${BigInt(postId).toString(16).padStart(64, "0")}`];
  const fromBlock = `0x${from.toString(16)}`;
  const filter = { address: marketplace, topics, fromBlock, toBlock: "latest" };
  const params = [filter];
  const logs = (await provider.request({ method: "eth_getLogs", params })) as {
    blockNumber: Hex;
    data: Hex;
  }[];
  return logs.reverse().map(({ blockNumber, data }) => ({
    block: Number(blockNumber),
    at: null,
    from: BigInt(`0x${data.slice(2, 66)}`).toString(),
    to: BigInt(`0x${data.slice(66, 130)}`).toString(),
  }));
}

async function withDates(provider: Provider, changes: PricePoint[]): Promise<PricePoint[]> {
  const blocks = [...new Set(changes.map(({ block }) => block))].slice(0, DATED_BLOCKS);
  const read = async (block: number): Promise<[number, string | null]> => {
    const params = [`0x${block.toString(16)}`, false];
    const found = await provider
      .request({ method: "eth_getBlockByNumber", params })
      // A change without its date is still worth showing.
      .catch(() => null);
    const { timestamp } = (found ?? {}) as { timestamp?: Hex };
    return [block, timestamp ? new Date(Number(timestamp) * 1000).toISOString() : null];
  };
  const dates = new Map(await Promise.all(blocks.map(read)));
  return changes.map((change) => ({ ...change, at: dates.get(change.block) ?? null }));
}
