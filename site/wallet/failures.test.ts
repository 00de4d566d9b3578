import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal, Unreachable } from "imprint-press";
import { standInForPage } from "../page/page-double.ts";

standInForPage({ chain: { id: 31337 } });
Object.assign(globalThis, { navigator: { onLine: true } });
const { describeUnknownNetwork, explain, hasSentNothing, NodeUnreachable, WrongChain } =
  await import("./failures.ts");

const refusal = (code: string, more = {}) =>
  new Refusal({ code, detail: "As the service says.", status: 400, ...more } as never);

test("a rejection is not an error, however the wallet reports it", () => {
  const ways = [
    { code: 4001 },
    { code: "ACTION_REJECTED" },
    { code: -32603, data: { originalError: { code: 4001 } } },
    new Error("User denied transaction signature"),
  ];
  for (const way of ways) assert.equal(explain(way).isCancelled, true);
});

test("a pending request sends people to their wallet", () => {
  assert.match(explain({ code: -32002 }).sentence, /already showing a request/);
});

test("the message for a wallet on another chain names the right one", () => {
  const { sentence, action } = explain(new WrongChain(1));
  assert.match(sentence, /chain ID 1\..*chain ID 31337/);
  assert.equal(action, "switch-chain");
});

test("without a public node, people learn whom to ask about an unknown network", () => {
  const chain = { name: "Gnosis", id: 100 };
  const said = describeUnknownNetwork(chain, "mailto:editors@tidewater.example");
  assert.match(said, /Gnosis \(chain ID 100\).*no node address.*ask editors@tidewater\.example/);
  assert.match(describeUnknownNetwork(chain, "https://a.example/x"), /ask https:\/\/a\.example\/x/);
  assert.match(describeUnknownNetwork(chain, null), /ask whoever runs this site/);
  const published = describeUnknownNetwork({ ...chain, rpc_url: "https://rpc.example" }, null);
  assert.doesNotMatch(published, /node address/);
});

test("a wallet that does not know the network is explained, however it wraps the error", () => {
  for (const way of [{ code: 4902 }, { code: -32603, data: { originalError: { code: 4902 } } }]) {
    assert.match(explain(way).sentence, /doesn’t know Imprint development \(chain ID 31337\)/);
    assert.equal(explain(way).action, "switch-chain");
  }
});

test("a wallet that refuses a transaction for another chain is on the wrong network", () => {
  const ways = [
    { code: -32602, message: "Invalid transaction params: chainId does not match" },
    { code: -32603, data: { message: "invalid chain id for signer: have 1 want 31337" } },
  ];
  for (const way of ways) {
    assert.match(explain(way).sentence, /another network.*chain ID 31337/);
    assert.equal(explain(way).action, "switch-chain");
  }
});

test("insufficient funds are reported, even if the wallet wraps the error", () => {
  const error = {
    code: -32603,
    message: "Internal",
    data: { message: "insufficient funds for gas" },
  };
  assert.match(explain(error).sentence, /can’t cover/);
});

test("an ended session leads to signing in", () => {
  for (const code of ["session_expired", "session_ended", "session_invalid"])
    assert.equal(explain(refusal(code)).action, "sign-in");
});

test("a refusal for which the page has no sentence shows the service's", () => {
  assert.equal(explain(refusal("not_found")).sentence, "As the service says.");
});

test("if the service does not respond, the message says that nothing is lost", () => {
  assert.match(explain(new Unreachable("no")).sentence, /Nothing is lost/);
});

test("an error that contains itself is explained too", () => {
  const error: { message: string; cause?: unknown } = { message: "odd" };
  error.cause = error;
  assert.match(explain(error).sentence, /odd/);
});

test("after a refusal by the owner, the wallet or the contract nothing was sent", () => {
  const refusals = [
    { code: 4001 },
    { code: 4100, message: "not authorized" },
    { code: -32603, message: "Internal", data: { code: -32000, message: "insufficient funds" } },
    { code: 3, message: "execution reverted" },
    new WrongChain(1),
  ];
  for (const error of refusals) assert.equal(hasSentNothing(error), true, JSON.stringify(error));
});

test("after anything else a transaction may have been sent", () => {
  const others = [
    { code: -32603, message: "Internal JSON-RPC error." },
    { code: -32000, message: "already known" },
    { code: -32000, message: "request timed out" },
    new Error("The popup was closed"),
    new NodeUnreachable(),
    "odd",
    null,
  ];
  for (const error of others) assert.equal(hasSentNothing(error), false, JSON.stringify(error));
});
