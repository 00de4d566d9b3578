// Compiles the contracts and writes their artifacts; with --check it only compares them.
import { createRequire } from "node:module";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const solc = createRequire(import.meta.url)("solc");
const here = dirname(fileURLToPath(import.meta.url));

// Each contract's source below this folder, and the location of its artifact.
const TARGETS = [
  { source: "Marketplace.sol", contract: "Marketplace", artifact: "../src/imprint/marketplace/Marketplace.json" },
  { source: "PurchaseAdapter.sol", contract: "PurchaseAdapter", artifact: "../src/imprint/marketplace/PurchaseAdapter.json" },
  { source: "SignatureValidator.sol", contract: "SignatureValidator", artifact: "../src/imprint/adapters/chain/SignatureValidator.json" },
  { source: "test/LegacyMarketplace.sol", contract: "LegacyMarketplace", artifact: "../tests/contracts/LegacyMarketplace.json" },
  { source: "test/OpenMarketplace.sol", contract: "OpenMarketplace", artifact: "../tests/simulation/OpenMarketplace.json" },
  { source: "test/Wallets.sol", contract: "OwnedWallet", artifact: "../tests/contracts/OwnedWallet.json" },
  { source: "test/Wallets.sol", contract: "PreparedWallet", artifact: "../tests/contracts/PreparedWallet.json" },
  { source: "test/Wallets.sol", contract: "WalletProxy", artifact: "../tests/contracts/WalletProxy.json" },
  { source: "test/Wallets.sol", contract: "MultiOwnerWallet", artifact: "../tests/contracts/MultiOwnerWallet.json" },
  { source: "test/Wallets.sol", contract: "WalletFactory", artifact: "../tests/contracts/WalletFactory.json" },
  { source: "test/HostileWallets.sol", contract: "HostileWallet", artifact: "../tests/contracts/HostileWallet.json" },
  { source: "test/HostileWallets.sol", contract: "HostileFactory", artifact: "../tests/contracts/HostileFactory.json" },
  { source: "test/PurchaseStorm.sol", contract: "PurchaseStorm", artifact: "../tests/anvil/PurchaseStorm.json" },
  { source: "test/TransferFlood.sol", contract: "TransferFlood", artifact: "../tests/anvil/TransferFlood.json" },
  { source: "test/DelegatedWallet.sol", contract: "DelegatedWallet", artifact: "../tests/contracts/DelegatedWallet.json" },
  { source: "test/PasskeyWallet.sol", contract: "PasskeyWallet", artifact: "../tests/contracts/PasskeyWallet.json" },
];

// Warnings about `selfdestruct` and `tstore`, which hostile test contracts and the library's
// reentrancy guard use on purpose.
const MEANT = new Set(["2394", "1699"]);
const MEANT_IN = ["test/", "@openzeppelin/"];

const SETTINGS = {
  evmVersion: "cancun",
  optimizer: { enabled: true, runs: 200 },
  viaIR: false,
  // No hash of the sources in the bytecode: a changed comment must not change the artifact.
  metadata: { bytecodeHash: "none", appendCBOR: false },
  outputSelection: { "*": { "*": ["abi", "evm.bytecode.object"] } },
};

function findSource(name) {
  const path = name.startsWith("@") ? join(here, "node_modules", name) : join(here, name);
  return { contents: readFileSync(path, "utf8") };
}

function compileAll() {
  const sources = Object.fromEntries(TARGETS.map(({ source }) => [source, { content: findSource(source).contents }]));
  const input = { language: "Solidity", sources, settings: SETTINGS };
  const output = JSON.parse(solc.compile(JSON.stringify(input), { import: findSource }));
  const problems = (output.errors ?? []).filter(
    ({ errorCode, sourceLocation }) => !(MEANT.has(errorCode) && MEANT_IN.some((folder) => sourceLocation?.file.startsWith(folder))),
  );
  if (problems.length > 0) {
    throw new Error(problems.map((problem) => problem.formattedMessage).join("\n"));
  }
  return output.contracts;
}

function renderArtifact(compiled) {
  return JSON.stringify({ abi: compiled.abi, bytecode: `0x${compiled.evm.bytecode.object}` }, null, 2) + "\n";
}

function readArtifact(path) {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error.code === "ENOENT") return null;
    throw error;
  }
}

const contracts = compileAll();
const checking = process.argv.includes("--check");
let stale = 0;
for (const { source, contract, artifact } of TARGETS) {
  const path = resolve(here, artifact);
  const fresh = renderArtifact(contracts[source][contract]);
  if (!checking) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, fresh);
    console.log(`wrote ${artifact}`);
  } else if (readArtifact(path) !== fresh) {
    stale += 1;
    console.error(`${artifact} does not match ${source}: run "npm run build" in contracts/`);
  } else {
    console.log(`${artifact} matches ${source}`);
  }
}
process.exitCode = stale > 0 ? 1 : 0;
