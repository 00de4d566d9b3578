import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal, Unreachable } from "./problems.js";
import { addQuery, fetchResponse } from "./transport.js";

const PROBLEM = { code: "rate_limited", status: 429, detail: "Too many requests." };
const request = (response: Response | Error, signal: AbortSignal | null = null) =>
  fetchResponse(
    async () => {
      if (response instanceof Error) throw response;
      return response;
    },
    "http://127.0.0.1",
    { signal },
  );

test("a query repeats lists and leaves out missing values", () => {
  const query = { tag: ["a b", "ä"], author: undefined, free: false, limit: 0, q: null };
  assert.equal(addQuery("/posts", query), "/posts?tag=a+b&tag=%C3%A4&free=false&limit=0");
  assert.equal(addQuery("/posts", {}), "/posts");
});

test("a problem becomes a refusal with all its members", async () => {
  const init = { status: 429, headers: { "Retry-After": "7" } };
  const refusal = await request(Response.json({ ...PROBLEM, now: 5 }, init)).catch(
    (error) => error,
  );
  assert.ok(refusal instanceof Refusal);
  assert.deepEqual([refusal.code, refusal.status, refusal.retryAfter], ["rate_limited", 429, 7]);
  assert.deepEqual([refusal.message, refusal.problem.now], ["Too many requests.", 5]);
});

test("a proxy's own error page is not a refusal of the service", async () => {
  for (const body of ["<html>", "null", "[]", '{"message": "no"}']) {
    const error = await request(new Response(body, { status: 502 })).catch((thrown) => thrown);
    assert.ok(error instanceof Unreachable, body);
    assert.equal(error.status, 502);
  }
});

test("a lost connection throws Unreachable, and an aborted request throws its reason", async () => {
  const failed = new TypeError("fetch failed");
  await assert.rejects(request(failed), (error: Error) => {
    return error instanceof Unreachable && error.cause === failed;
  });
  const reason = new Error("Enough.");
  await assert.rejects(request(reason, AbortSignal.abort(reason)), reason);
});
