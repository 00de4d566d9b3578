// Typed data, signed in every way that wallets and their libraries support.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Signature, Wallet } from "ethers";
import { imprint, node, openEthers, openLocal, openStranger, openUnlocked, refusalOf, signFirst } from "./world.mjs";

const EIP712_DOMAIN = [
  { name: "name", type: "string" },
  { name: "version", type: "string" },
  { name: "chainId", type: "uint256" },
];

const create = (body) => imprint.send("/create/group", { content: "Signed words.", ...body });

async function assertOwned(wallet, body) {
  const { updatedUpload: file } = await create(body);
  assert.deepEqual(file.keyvalues, { owner: wallet.address.toLowerCase(), status: "pending" });
}

for (const [who, wallet] of [
  ["viem with a private key", openLocal(4)],
  ["viem with a node's account", openUnlocked(4)],
  ["ethers", openEthers()],
]) {
  test(`${who} signs what the service accepts`, async () => {
    await assertOwned(wallet, await signFirst(wallet, "create"));
  });
}

test("a manual eth_signTypedData_v4 request is accepted as it was signed", async () => {
  const wallet = openUnlocked(4);
  const { salt, address } = await signFirst(wallet, "create");
  const typedData = { ...salt, types: { EIP712Domain: EIP712_DOMAIN, ...salt.types } };
  const params = [address, JSON.stringify(typedData)];
  const signature = await node.request({ method: "eth_signTypedData_v4", params });
  await assertOwned(wallet, { salt: typedData, address, signature });
});

for (const [spelling, spell] of [
  ["a decimal string", (id) => String(id)],
  ["a hexadecimal string", (id) => `0x${id.toString(16)}`],
]) {
  test(`the chain's id may be ${spelling}`, async () => {
    const wallet = openStranger();
    const body = await signFirst(wallet, "create");
    body.salt.domain = { ...body.salt.domain, chainId: spell(body.salt.domain.chainId) };
    await assertOwned(wallet, body);
  });
}

test("the address may be in lower case", async () => {
  const wallet = openStranger();
  const body = await signFirst(wallet, "create");
  await assertOwned(wallet, { ...body, address: body.address.toLowerCase() });
});

test("a compact signature is accepted", async () => {
  const wallet = openStranger();
  const body = await signFirst(wallet, "create");
  await assertOwned(wallet, { ...body, signature: Signature.from(body.signature).compactSerialized });
});

test("a signature of somebody else is refused", async () => {
  const { salt, address } = await signFirst(openStranger(), "create");
  const signature = await Wallet.createRandom().signTypedData(salt.domain, salt.types, salt.message);
  const refusal = await refusalOf(create({ salt, address, signature }));
  assert.deepEqual([refusal.status, refusal.code], [401, "signature_invalid"]);
});

test("a signature for another action is refused", async () => {
  const refusal = await refusalOf(create(await signFirst(openStranger(), "update")));
  assert.deepEqual([refusal.status, refusal.code], [400, "invalid_typed_data"]);
});

test("a domain that binds the signature to a contract is refused", async () => {
  const wallet = openStranger();
  const body = await signFirst(wallet, "create");
  body.salt.domain = { ...body.salt.domain, verifyingContract: imprint.facts.chain.marketplace };
  const signature = await wallet.signTypedData(body.salt);
  const refusal = await refusalOf(create({ ...body, signature }));
  assert.deepEqual([refusal.status, refusal.code], [400, "invalid_typed_data"]);
});

test("a signature that is older than a minute is refused", async () => {
  const wallet = openStranger();
  const body = await signFirst(wallet, "create");
  body.salt.message.timestamp = String(Number(body.salt.message.timestamp) - 61);
  const signature = await wallet.signTypedData(body.salt);
  const refusal = await refusalOf(create({ ...body, signature }));
  assert.deepEqual([refusal.status, refusal.code], [401, "signature_stale"]);
});
