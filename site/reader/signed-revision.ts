/** Checks what the author of a correction signed, without trusting the service. */

import { recoverPublicKeyAsync } from "@noble/secp256k1";
import { digestOf, hashBytes, hashText, type PostContent, type TypedData } from "imprint-press";

/** The post that a correction must belong to. */
export interface CorrectedPost {
  /** The CID of the document on the chain. */
  readonly cid: string;
  readonly author: string;
}

/**
 * Whether the author of a post signed this version of its text.
 *
 * `null` if the text and the post are those that were signed, but not by a key of the author: only
 * the chain can tell whether a contract wallet signed.
 */
export async function verifyRevision(
  { content, proof }: Pick<PostContent, "content" | "proof">,
  { cid, author }: CorrectedPost,
): Promise<boolean | null> {
  const owner = author.toLowerCase();
  if (!proof || proof.address.toLowerCase() !== owner) return false;
  const salt = proof.salt as unknown as TypedData;
  const { cid: signedCid, contentHash } = salt.message;
  if (signedCid !== cid || contentHash !== hashText(content)) return false;
  const digest = digestOf({ ...salt, primaryType: "RevisePost" });
  try {
    return (await recover(hexToBytes(digest), proof.signature)) === owner ? true : null;
  } catch {
    return null;
  }
}

/** The address whose key signed; throws if the bytes are not a key's signature. */
async function recover(digest: Uint8Array, signature: string): Promise<string> {
  const bytes = hexToBytes(signature);
  if (bytes.length !== 64 && bytes.length !== 65) throw new RangeError("not a key's signature");
  const recovered = new Uint8Array(65);
  recovered.set(bytes.subarray(0, 64), 1);
  const [s = 0, v] = [bytes[32], bytes[64]];
  // EIP-2098 has the parity in the highest bit of `s`.
  recovered[0] = v === undefined ? s >> 7 : v >= 27 ? v - 27 : v;
  if (v === undefined) recovered[33] = s & 0x7f;
  const options = { prehash: false, isCompressed: false };
  const point = await recoverPublicKeyAsync(recovered, digest, options);
  return `0x${hashBytes(point.slice(1)).slice(-40)}`;
}

const hexToBytes = (hex: string): Uint8Array =>
  Uint8Array.from(hex.slice(2).match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
