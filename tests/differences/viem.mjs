// The results of viem for the cases of test_viem.py.
import { readFileSync } from "node:fs";
import {
  decodeAbiParameters,
  decodeEventLog,
  decodeFunctionResult,
  encodeFunctionData,
  getAddress,
  hashTypedData,
  isAddress,
  keccak256,
  recoverAddress,
} from "viem";
import { createSiweMessage, parseSiweMessage, validateSiweMessage } from "viem/siwe";
import { serve } from "./batches.mjs";

const read = (name) => JSON.parse(readFileSync(new URL(`../../src/imprint/marketplace/${name}.json`, import.meta.url))).abi;
const abi = [...read("Marketplace"), ...read("PurchaseAdapter")];

/** The first word of a post that is returned as one struct. The earlier marketplace returned its members instead. */
const STRUCT = "20".padStart(64, "0");
const POST = abi.find(({ name }) => name === "getPostInfo").outputs[0].components;

/** Numbers become text, because JSON has no large ones. */
const plain = (value) => {
  if (typeof value === "bigint") return String(value);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value === "object")
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, plain(each)]));
  return /^0x[0-9a-fA-F]{40}$/.test(value) ? value.toLowerCase() : value;
};

const toDate = (text) => (text === undefined ? undefined : new Date(text));

/** The time in milliseconds. Throws for a date that viem could not read. */
const toMilliseconds = (date) => {
  if (Number.isNaN(date.getTime())) throw new Error("invalid date");
  return date.getTime();
};

await serve({
  keccak: (bytes) => keccak256(bytes),
  addresses: (text) => {
    if (!isAddress(text)) throw new Error("no address");
    return getAddress(text);
  },
  "typed data": ({ envelope }) => hashTypedData(envelope).slice(2),
  writes: ({ envelope }) => hashTypedData(envelope).slice(2),
  signatures: async ([hash, signature]) => (await recoverAddress({ hash, signature })).toLowerCase(),
  calls: ({ functionName, args }) => encodeFunctionData({ abi, functionName, args }),
  logs: ({ topics, data }) => {
    const { eventName, args } = decodeEventLog({ abi, topics, data, strict: true });
    return { eventName, ...plain(args) };
  },
  "post entries": (data) => {
    if (data.slice(2, 66) === STRUCT) return plain(decodeFunctionResult({ abi, functionName: "getPostInfo", data }));
    const values = decodeAbiParameters(POST, data);
    return plain(Object.fromEntries(POST.map(({ name }, place) => [name, values[place]])));
  },
  "written messages": (fields) =>
    createSiweMessage({
      ...fields,
      issuedAt: toDate(fields.issuedAt),
      expirationTime: toDate(fields.expirationTime),
      notBefore: toDate(fields.notBefore),
    }),
  messages: ({ text, address, domain, time }) => {
    const message = parseSiweMessage(text);
    for (const name of ["domain", "address", "version", "chainId", "nonce", "issuedAt"])
      if (message[name] === undefined) throw new Error(`no ${name}`);
    if (!validateSiweMessage({ address, domain, message, time: new Date(time) })) throw new Error("invalid");
    const found = { ...message };
    for (const name of ["issuedAt", "expirationTime", "notBefore"])
      if (name in found) found[name] = toMilliseconds(found[name]);
    return found;
  },
});
