import assert from "node:assert/strict";
import { test } from "node:test";
import { Retries } from "./retries.ts";

/** Retries that take no time; an error with “away” means a node that does not respond. */
function make() {
  const pauses: number[] = [];
  const notes: (string | null)[] = [];
  const retries: Retries = new Retries({
    nameSilent: (error) => (String(error).includes("away") ? "The node" : null),
    pause: async (seconds) => {
      pauses.push(seconds);
      notes.push(retries.note.value);
    },
  });
  return { retries, pauses, notes };
}

/** A request that fails this many times and then succeeds. */
function failing(times: number, message: string) {
  let asked = 0;
  return async () => {
    asked += 1;
    if (asked <= times) throw new Error(message);
    return asked;
  };
}

test("a request is retried until it succeeds, and a note names who does not respond", async () => {
  const { retries, pauses, notes } = make();
  assert.equal(await retries.ask(failing(3, "away")), 4);
  assert.deepEqual(pauses, [1, 2, 4]);
  assert.match(notes[0] ?? "", /^The node isn’t responding/);
  assert.equal(retries.note.value, null);
});

test("an error that a retry cannot fix is thrown at once", async () => {
  const { retries, pauses } = make();
  await assert.rejects(retries.ask(failing(1, "rejected")), /rejected/);
  assert.deepEqual(pauses, []);
});

test("a node that does not respond is retried for about a minute", async () => {
  const { retries, pauses } = make();
  await assert.rejects(retries.ask(failing(99, "away")), /away/);
  assert.equal(
    pauses.reduce((sum, seconds) => sum + seconds),
    60,
  );
  assert.equal(retries.note.value, null);
});

test("polls become less frequent, down to one every four seconds", async () => {
  const { retries, pauses } = make();
  for (const polls of [0, 20, 400]) await retries.rest(polls);
  assert.deepEqual(pauses, [1, 2, 4]);
});
