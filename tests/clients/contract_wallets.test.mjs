// Contract wallets, made with viem: before they are deployed, and after.
import assert from "node:assert/strict";
import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import {
  createPublicClient,
  createWalletClient,
  encodeAbiParameters,
  encodeDeployData,
  encodeFunctionData,
  getContractAddress,
  hashMessage,
  hashTypedData,
  http,
  keccak256,
  parseAbiParameters,
  stringToHex,
  zeroAddress,
  zeroHash,
} from "viem";
import { entryPoint08Abi, toSmartAccount, toWebAuthnAccount } from "viem/account-abstraction";
import { generatePrivateKey, mnemonicToAccount, privateKeyToAccount } from "viem/accounts";
import { foundry } from "viem/chains";
import { walletOfAccount } from "imprint-press";
import { MNEMONIC, cover, host, imprint, openLocal, openStranger, origin, refusalOf, signFirst, signIn, transact } from "./world.mjs";

const chain = { chain: foundry, transport: http(imprint.facts.chain.rpc_url), pollingInterval: 50 };
const node = createPublicClient(chain);
const MARK = "6492".repeat(16);

const readArtifact = (name) => JSON.parse(readFileSync(new URL(`../contracts/${name}.json`, import.meta.url)));

async function deployFactory() {
  const { abi, bytecode } = readArtifact("WalletFactory");
  const deployer = createWalletClient({ account: mnemonicToAccount(MNEMONIC, { addressIndex: 2 }), ...chain });
  const hash = await deployer.deployContract({ abi, bytecode });
  const { contractAddress } = await node.waitForTransactionReceipt({ hash });
  return { address: contractAddress, abi };
}

/**
 * A wallet that the factory has not deployed yet; `signHash` returns what its contract accepts.
 */
async function openCounterfactual(name, args, signHash) {
  const code = encodeDeployData({ ...readArtifact(name), args });
  const prepare = encodeFunctionData({ abi: factory.abi, functionName: "deploy", args: [code, zeroHash] });
  const address = getContractAddress({ opcode: "CREATE2", from: factory.address, salt: zeroHash, bytecode: code });
  const account = await toSmartAccount({
    client: node,
    entryPoint: { abi: entryPoint08Abi, address: zeroAddress, version: "0.8" },
    getAddress: async () => address,
    getFactoryArgs: async () => ({ factory: factory.address, factoryData: prepare }),
    signMessage: ({ message }) => signHash(hashMessage(message)),
    signTypedData: (typedData) => signHash(hashTypedData(typedData)),
  });
  const deploy = async () => {
    await transact(openLocal(2), { to: factory.address, data: prepare });
  };
  return { wallet: walletOfAccount(account), deploy };
}

/** A wallet of a key. */
async function openOwned() {
  const owner = privateKeyToAccount(generatePrivateKey());
  const opened = await openCounterfactual("OwnedWallet", [owner.address], (hash) => owner.sign({ hash }));
  return { ...opened, owner };
}

/** A wallet of a passkey, which a browser's authenticator would hold. */
async function openPasskey() {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const { x, y } = publicKey.export({ format: "jwk" });
  const point = [x, y].map((number) => `0x${Buffer.from(number, "base64url").toString("hex")}`);
  const passkey = toWebAuthnAccount({
    credential: { id: "a-credential", publicKey: `0x${point.map((number) => number.slice(2)).join("")}` },
    rpId: host.split(":")[0],
    getFn: async ({ publicKey: { challenge, rpId } }) => ({ response: respond(privateKey, challenge, rpId) }),
  });
  return openCounterfactual("PasskeyWallet", [zeroAddress, ...point], async (hash) => {
    const { signature, webauthn } = await passkey.sign({ hash });
    const [r, s] = [`0x${signature.slice(2, 66)}`, `0x${signature.slice(66, 130)}`];
    const { challengeIndex, typeIndex, authenticatorData, clientDataJSON } = webauthn;
    const kinds = parseAbiParameters("bytes32, bytes32, uint256, uint256, bytes, string");
    return encodeAbiParameters(kinds, [r, s, BigInt(challengeIndex), BigInt(typeIndex), authenticatorData, clientDataJSON]);
  });
}

/** An authenticator's response to a challenge of this site: the user was present and verified. */
function respond(privateKey, challenge, rpId) {
  const text = Buffer.from(challenge).toString("base64url");
  const clientDataJSON = Buffer.from(JSON.stringify({ type: "webauthn.get", challenge: text, origin }));
  const digest = (bytes) => createHash("sha256").update(bytes).digest();
  const authenticatorData = Buffer.concat([digest(rpId), Buffer.from([0x05, 0, 0, 0, 1])]);
  const signature = signInFull(Buffer.concat([authenticatorData, digest(clientDataJSON)]), privateKey);
  return { authenticatorData, clientDataJSON, signature };
}

/**
 * viem assumes 32 bytes for `r` of a passkey's signature, and so garbles one in 256: those are not
 * tested.
 */
function signInFull(bytes, privateKey) {
  for (;;) {
    const signature = sign("sha256", bytes, privateKey);
    const [length, first] = [signature[3], signature[4]]; // Of `r`, with a zero in front if it looks negative.
    if (length - (first === 0 ? 1 : 0) === 32) return signature;
  }
}

/** A draft in the form that is bound to its content and to the service. */
async function signBound(wallet, content) {
  const { service, signing: domain } = imprint.facts;
  const kinds = [["service", "string"], ["contentHash", "bytes32"], ["nonce", "string"], ["timestamp", "uint256"]];
  const types = { CreateDraft: kinds.map(([name, type]) => ({ name, type })) };
  const timestamp = Math.floor(Date.now() / 1000);
  const message = { service, contentHash: keccak256(stringToHex(content)), nonce: crypto.randomUUID(), timestamp };
  const salt = { domain, types, primaryType: "CreateDraft", message };
  return { salt, address: wallet.address, signature: await wallet.signTypedData(salt), content };
}

const factory = await deployFactory();

for (const [who, open] of [
  ["a wallet of a key", openOwned],
  ["a wallet of a passkey", openPasskey],
]) {
  test(`${who} logs in and writes before it is deployed, and after`, async () => {
    const { wallet, deploy } = await open();
    const owner = wallet.address.toLowerCase();
    for (const deployed of [false, true]) {
      if (deployed) await deploy();
      const body = await signFirst(wallet, "create");
      assert.equal(body.signature.endsWith(MARK), !deployed);
      const { updatedUpload: draft } = await imprint.send("/create/group", { ...body, content: "Signed by a contract." });
      assert.deepEqual(draft.keyvalues, { owner, status: "pending" });

      const bound = await imprint.send("/create/group", await signBound(wallet, `Bound, deployed: ${deployed}.`));
      assert.deepEqual(bound.updatedUpload.keyvalues, { owner, status: "pending" });

      const signedIn = await signIn(wallet);
      assert.equal(signedIn.session.address, owner);
      const updated = await imprint.updateDraft(wallet, draft.cid, `Deployed: ${deployed}.`);
      assert.equal((await signedIn.readDraft(updated.cid)).content, `Deployed: ${deployed}.`);
      assert.ok(await imprint.publishDraft(wallet, updated.cid, { thumbnail: cover, hashtags: [] }));
      await imprint.deleteDraft(wallet, updated.cid);
    }
  });

  test(`the signature of ${who} is verified`, async () => {
    const { wallet, deploy } = await open();
    const { wallet: other } = await open();
    const { signature: forged } = await signFirst(other, "create");
    for (const deployed of [false, true]) {
      if (deployed) await deploy();
      const body = { ...(await signFirst(wallet, "create")), content: "Words." };
      // Signed for another message, by another wallet, or not at all.
      const { signature: stale } = await signFirst(wallet, "create");
      for (const signature of [stale, forged, "0x"]) {
        const refusal = await refusalOf(imprint.send("/create/group", { ...body, signature }));
        assert.deepEqual([refusal.status, refusal.code], [401, "signature_invalid"]);
      }
      // A refused signature has spent nothing.
      assert.ok(await imprint.send("/create/group", body));
    }
  });
}

test("a draft of a contract wallet is not its owner's", async () => {
  const { wallet, owner } = await openOwned();
  const draft = await imprint.createDraft(wallet, "Of the wallet.");
  const key = walletOfAccount(owner);
  for (const somebody of [key, openStranger()]) {
    const refusal = await refusalOf(imprint.deleteDraft(somebody, draft.cid));
    assert.deepEqual([refusal.status, refusal.code], [403, "not_owner"]);
  }
});
