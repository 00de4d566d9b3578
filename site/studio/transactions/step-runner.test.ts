import assert from "node:assert/strict";
import { test } from "node:test";
import { stepStates } from "./step-runner.ts";

const STEPS = ["text", "transaction", "mined"];

test("earlier steps are done, the current one fails or runs, later ones are ahead", () => {
  assert.deepEqual(stepStates(STEPS, "transaction", false), ["done", "now", "ahead"]);
  assert.deepEqual(stepStates(STEPS, "transaction", true), ["done", "failed", "ahead"]);
});

test("all steps of finished work are done", () => {
  assert.deepEqual(stepStates(STEPS, "done", false), ["done", "done", "done"]);
});
