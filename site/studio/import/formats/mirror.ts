/**
 * Mirror: archive files from Arweave, whose signatures prove offline which wallet wrote the text.
 *
 * The wallet signed a key of the browser, and that key signed the digest of the text.
 */

import { recoverPublicKeyAsync } from "@noble/secp256k1";
import { hashBytes } from "imprint-press";
import { WORDS } from "../words.ts";
import { type FoundPost, oneLine, webAddress } from "./found-post.ts";

export interface MirrorEntry {
  readonly content: {
    readonly title: string;
    readonly body: string;
    readonly timestamp: number | string;
  };
  readonly digest: string;
  readonly originalDigest?: unknown;
  readonly authorship: {
    readonly contributor: string;
    readonly signingKey: string;
    readonly signature: string;
    readonly signingKeySignature: string;
    readonly signingKeyMessage: string;
  };
  readonly nft?: unknown;
  readonly wnft?: unknown;
}

/** Whether a JSON value is an archive file of Mirror. */
export function isMirror(json: unknown): json is MirrorEntry {
  const entry = json as Partial<MirrorEntry> | null;
  const { content, authorship } = entry ?? {};
  return (
    typeof entry?.digest === "string" &&
    typeof content?.title === "string" &&
    typeof content.body === "string" &&
    /^(number|string)$/.test(typeof content.timestamp) &&
    typeof authorship?.contributor === "string" &&
    [authorship.signingKey, authorship.signature, authorship.signingKeySignature].every(
      (part) => typeof part === "string",
    ) &&
    typeof authorship.signingKeyMessage === "string"
  );
}

export async function parseMirror(entry: MirrorEntry): Promise<FoundPost> {
  const { title, body, timestamp } = entry.content;
  const proof = await verify(entry).catch((): Proof => ({ signer: null, isIntact: false }));
  const original = typeof entry.originalDigest === "string" ? entry.originalDigest : entry.digest;
  const { contributor } = entry.authorship;
  const date = new Date(Number(timestamp) * 1000);
  const pictures = [...body.matchAll(/!\[[^\]\n]{0,1000}\]\((https?:[^)\s]{1,2000})/g)].map(
    (found) => found[1] ?? "",
  );
  const embeds = body.match(/^\[embed\]\(/gm)?.length ?? 0;
  return {
    format: "Mirror",
    source: `mirror:${original}`,
    title: oneLine(title),
    description: "",
    text: body.replace(/^\[embed\]\((\S+)\)$/gm, "<$1>").trim(),
    tags: [],
    date: date.getTime() > 0 ? date.toISOString().slice(0, 10) : null,
    address: webAddress(
      `${encodeURIComponent(contributor)}/${encodeURIComponent(original)}`,
      "https://mirror.xyz/",
    ),
    remarks: [
      proof.signer !== null
        ? WORDS.signatureProved(proof.signer)
        : proof.isIntact
          ? WORDS.signerUnproved
          : WORDS.signatureWrong,
    ],
    losses: [
      ...(entry.nft || entry.wnft ? [WORDS.tokenStays] : []),
      ...(embeds ? [WORDS.losses.embed(embeds)] : []),
    ],
    linkedPictures: [...new Set(pictures)],
    pictures: [],
    signedBy: proof.signer,
  };
}

interface Proof {
  /** The contributor, if its wallet signed. */
  readonly signer: string | null;
  /** Whether the text has this digest, and the browser's key signed it. */
  readonly isIntact: boolean;
}

const AUTHORIZATION = "I authorize publishing on mirror.xyz from this device using:\n";

async function verify({ content, digest, authorship }: MirrorEntry): Promise<Proof> {
  const { title, body, timestamp } = content;
  const { signingKey, signingKeyMessage, contributor } = authorship;
  const signed = new TextEncoder().encode(JSON.stringify({ title, body, timestamp }));
  const computed = new Uint8Array(await crypto.subtle.digest("SHA-256", signed));
  if (base64Url(computed) !== digest) return { signer: null, isIntact: false };
  // Earlier and later files name the two signatures the other way round.
  const both = [authorship.signature, authorship.signingKeySignature];
  const byWallet = both.find((each) => each.startsWith("0x")) ?? "";
  const byKey = both.find((each) => !each.startsWith("0x")) ?? "";
  const curve = { name: "ECDSA", namedCurve: "P-256" };
  const jwk = JSON.parse(signingKey) as JsonWebKey;
  const publicPart = { kty: "EC", crv: "P-256", x: jwk.x ?? "", y: jwk.y ?? "" };
  const key = await crypto.subtle.importKey("jwk", publicPart, curve, false, ["verify"]);
  const algorithm = { name: "ECDSA", hash: "SHA-256" };
  const isIntact = await crypto.subtle.verify(algorithm, key, bytesOf(byKey), computed);
  if (!isIntact || signingKeyMessage !== AUTHORIZATION + signingKey)
    return { signer: null, isIntact };
  const signer = await recover(signingKeyMessage, byWallet).catch(() => null);
  const isOwn = signer === contributor.toLowerCase();
  return { signer: isOwn ? contributor : null, isIntact };
}

/** The address whose key signed a message by EIP-191, in lower case. */
async function recover(message: string, signature: string): Promise<string> {
  const signed = hexToBytes(signature);
  const last = signed[64] ?? 0;
  const recovered = new Uint8Array(65);
  recovered[0] = last >= 27 ? last - 27 : last;
  recovered.set(signed.subarray(0, 64), 1);
  const text = new TextEncoder().encode(message);
  const prefix = new TextEncoder().encode(`\x19Ethereum Signed Message:\n${text.length}`);
  const hash = hexToBytes(hashBytes(Uint8Array.from([...prefix, ...text])));
  const options = { prehash: false, isCompressed: false };
  const point = await recoverPublicKeyAsync(recovered, hash, options);
  return `0x${hashBytes(point.slice(1)).slice(-40)}`;
}

const hexToBytes = (hex: string): Uint8Array =>
  Uint8Array.from(hex.slice(2).match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));

const base64Url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/=+$/, "");

const bytesOf = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) =>
    letter.charCodeAt(0),
  );
