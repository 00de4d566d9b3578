/** The cid of a document, computed from its bytes as IPFS does (CIDv1, SHA-256, 256 KiB leaves). */

const CHUNK = 262_144;
/** The maximum number of links in a node. */
const WIDTH = 174;
const RAW = 0x55;
const DAG_PB = 0x70;

/** A block and the tree below it: `length` bytes of content in `total` bytes of blocks. */
interface Node {
  cid: Uint8Array;
  length: number;
  total: number;
}

/** Whether bytes match a cid (CIDv1 in base32, as the service writes it). */
export async function verifyDocument(bytes: Uint8Array, cid: string): Promise<boolean> {
  return (await documentCid(bytes)) === cid;
}

/**
 * Whether a text on the chain names this cid (CIDv1 in base32, as the service writes it), spelled
 * the same way or as its CIDv0.
 */
export function isSameCid(text: string, cid: string): boolean {
  if (text === cid || !/^Qm[1-9A-HJ-NP-Za-km-z]{44}$/.test(text)) return text === cid;
  let number = 0n;
  for (const digit of text) number = number * 58n + BigInt(BASE58.indexOf(digit));
  const multihash = number.toString(16).padStart(68, "0").match(/../g) ?? [];
  const bytes = multihash.map((pair) => Number.parseInt(pair, 16));
  return `b${base32(Uint8Array.of(1, DAG_PB, ...bytes))}` === cid;
}

const BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/** The cid of a document: of its bytes if they fit into one chunk, otherwise of its tree's root. */
export async function documentCid(bytes: Uint8Array): Promise<string> {
  const leaves: Promise<Node>[] = [];
  for (let at = 0; at === 0 || at < bytes.length; at += CHUNK) {
    const chunk = bytes.subarray(at, at + CHUNK);
    leaves.push(makeNode(RAW, chunk, chunk.length, chunk.length));
  }
  let level = await Promise.all(leaves);
  while (level.length > 1) {
    const groups = Array.from({ length: Math.ceil(level.length / WIDTH) }, (_, group) =>
      level.slice(group * WIDTH, (group + 1) * WIDTH),
    );
    level = await Promise.all(groups.map(joinNodes));
  }
  return `b${base32((level[0] as Node).cid)}`;
}

/** The dag-pb node of a UnixFS file above its children. Links come before the data. */
function joinNodes(children: Node[]): Promise<Node> {
  const links = children.flatMap(({ cid, total }) =>
    field(2, [...field(1, cid), ...field(2, []), 0x18, ...varint(total)]),
  );
  const length = children.reduce((sum, child) => sum + child.length, 0);
  const sizes = children.flatMap((child) => [0x20, ...varint(child.length)]);
  const data = field(1, [0x08, 0x02, 0x18, ...varint(length), ...sizes]);
  const block = Uint8Array.from([...links, ...data]);
  const total = children.reduce((sum, child) => sum + child.total, block.length);
  return makeNode(DAG_PB, block, length, total);
}

async function makeNode(
  codec: number,
  block: Uint8Array,
  length: number,
  total: number,
): Promise<Node> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", block as BufferSource));
  return { cid: Uint8Array.from([1, codec, 0x12, 0x20, ...digest]), length, total };
}

/** A protobuf field of bytes. */
const field = (number: number, value: ArrayLike<number>): number[] => [
  (number << 3) | 2,
  ...varint(value.length),
  ...Array.from(value),
];

/** A number as a varint, the lowest seven bits first. */
function varint(number: number): number[] {
  const bytes: number[] = [];
  for (let left = number; ; left = Math.floor(left / 128)) {
    if (left < 128) return [...bytes, left];
    bytes.push((left % 128) | 128);
  }
}

function base32(bytes: Uint8Array): string {
  let [text, bits, held] = ["", 0, 0];
  for (const byte of bytes) {
    held = (held << 8) | byte;
    for (bits += 8; bits >= 5; bits -= 5) text += LETTERS.charAt((held >> (bits - 5)) & 31);
    held &= (1 << bits) - 1;
  }
  return bits ? text + LETTERS.charAt((held << (5 - bits)) & 31) : text;
}

const LETTERS = "abcdefghijklmnopqrstuvwxyz234567";
