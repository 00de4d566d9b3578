import assert from "node:assert/strict";
import { test } from "node:test";
import { stepStates } from "./step-runner.ts";

const STEPS = ["text", "transaction", "mined"];

test("steps before are done, the present one fails or goes on, later ones are ahead", () => {
  assert.deepEqual(stepStates(STEPS, "transaction", false), ["done", "now", "ahead"]);
  assert.deepEqual(stepStates(STEPS, "transaction", true), ["done", "failed", "ahead"]);
});

test("all steps of what is done are done", () => {
  assert.deepEqual(stepStates(STEPS, "done", false), ["done", "done", "done"]);
});
