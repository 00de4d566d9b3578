/** The typed data (EIP-712) of every write, in the three forms that a service accepts. */

import { hashTypedData, keccak256, stringToBytes } from "viem/utils";
import type { Action, Address, Form, Hex, ServiceFacts } from "./records.js";

export interface TypedDataMember {
  name: string;
  type: string;
}

export interface TypedData {
  domain: { name: string; version: string; chainId: number };
  types: Record<string, TypedDataMember[]>;
  primaryType: string;
  message: Record<string, unknown>;
}

/** The values that a signed write is bound to, as far as its form covers them. */
export interface WriteValues {
  cid?: string;
  contentHash?: Hex;
  thumbnailHash?: Hex;
  hashtags?: string;
  /** For `inkdao-1`, which shows it in the wallet's prompt. */
  title?: string;
}

/** The context of a signature. */
export interface Signing {
  facts: Pick<ServiceFacts, "service" | "signing">;
  form: Form;
  address: Address;
  /** The time of the service in Unix seconds. */
  now: number;
}

const TAIL = "string nonce,uint256 timestamp";
const DRAFT_TYPES: Record<Action, string> = {
  create: `string service,bytes32 contentHash,${TAIL}`,
  update: `string service,string cid,bytes32 contentHash,${TAIL}`,
  publish: `string service,string cid,bytes32 thumbnailHash,string hashtags,${TAIL}`,
  delete: `string service,string cid,${TAIL}`,
};
const FILE_TYPE = "string action,string nonce,string timestamp";
const INKDAO_TAIL = "string nonce,address address,uint256 timestamp";

/** The typed data of one write. Its nonce is random, so it takes effect once. */
export function buildWrite(signing: Signing, action: Action, values: WriteValues): TypedData {
  const { facts, form, address, now } = signing;
  const nonce = randomNonce();
  if (form === "imprint-2") {
    const message = { service: facts.service, ...values, nonce, timestamp: now };
    return buildTypedData(facts, `${capitalize(action)}Draft`, DRAFT_TYPES[action], message);
  }
  const primaryType = `${capitalize(action)}File`;
  if (form === "imprint-1") {
    const message = { action, nonce, timestamp: String(now) };
    return buildTypedData(facts, primaryType, FILE_TYPE, message);
  }
  const subject = action === "create" ? "title" : "cid";
  const message = { [subject]: values[subject] ?? "", nonce, address, timestamp: now };
  return buildTypedData(facts, primaryType, `string ${subject},${INKDAO_TAIL}`, message);
}

const PROFILE_TYPE = `string service,string name,string bio,string links,string avatar,${TAIL}`;

/** The signed parts of a profile. The links are separated by line feeds. */
export interface ProfileValues {
  name: string;
  bio: string;
  links: string;
  /** `keep`, `none`, or the hash of the picture. */
  avatar: string;
}

/** The typed data of a profile. Its nonce is random, so it takes effect once. */
export function buildProfile(
  facts: Pick<ServiceFacts, "service" | "signing">,
  values: ProfileValues,
  now: number,
): TypedData {
  const message = { service: facts.service, ...values, nonce: randomNonce(), timestamp: now };
  return buildTypedData(facts, "UpdateProfile", PROFILE_TYPE, message);
}

const REVISION_TYPE = `string service,string postId,string cid,bytes32 contentHash,string note,${TAIL}`;

/** The signed parts of a correction. `cid` is the cid of the post's document on the chain. */
export interface RevisionValues {
  postId: string;
  cid: string;
  contentHash: Hex;
  note: string;
}

/** The typed data of a correction. Its nonce is random, so it takes effect once. */
export function buildRevision(
  facts: Pick<ServiceFacts, "service" | "signing">,
  values: RevisionValues,
  now: number,
): TypedData {
  const message = { service: facts.service, ...values, nonce: randomNonce(), timestamp: now };
  return buildTypedData(facts, "RevisePost", REVISION_TYPE, message);
}

/** Typed data of this service; values that the type does not have are left out. */
export function buildTypedData(
  facts: Pick<ServiceFacts, "signing">,
  primaryType: string,
  declaration: string,
  message: Record<string, unknown>,
): TypedData {
  const members = parseMembers(declaration);
  const kept = Object.fromEntries(members.map(({ name }) => [name, message[name]]));
  return { domain: facts.signing, types: { [primaryType]: members }, primaryType, message: kept };
}

/** The members of an EIP-712 type, parsed from its notation. */
export function parseMembers(declaration: string): TypedDataMember[] {
  return declaration.split(",").map((member) => {
    const [type = "", name = ""] = member.split(" ");
    return { name, type };
  });
}

/** The 32 bytes that a key signs for this typed data, in hex. */
export const digestOf = ({ domain, types, primaryType, message }: TypedData): Hex =>
  hashTypedData({
    domain: { ...domain, chainId: Number(domain.chainId) },
    types: { [primaryType]: types[primaryType] ?? [] },
    primaryType,
    message,
  });

/** The hash of a text to which a signature is bound. */
export const hashText = (text: string): Hex => keccak256(stringToBytes(text));

/** The hash of a thumbnail to which a signature is bound. */
export const hashBytes = (bytes: Uint8Array): Hex => keccak256(bytes);

export const randomNonce = (): string => {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
};

const capitalize = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);
