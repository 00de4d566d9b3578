import assert from "node:assert/strict";
import { test } from "node:test";
import type { Profile } from "imprint-press";
import {
  advanceForm,
  bioProblem,
  cleanText,
  isChanged,
  isTyped,
  linksProblem,
  nameProblem,
  openForm,
  parseLinks,
  problemOf,
} from "./profile-form.ts";

const saved: Profile = {
  address: "0x00000000000000000000000000000000000000a1",
  name: "Ada Ink",
  bio: "Writes.\nBy hand.",
  links: ["https://ada.example", "mailto:ada@ink.example"],
  avatarCid: "bafy",
  updatedAt: "2026-11-18T00:00:00Z",
};

test("a form opens with what readers see", () => {
  const form = openForm(saved);
  assert.equal(form.name, "Ada Ink");
  assert.equal(form.links, "https://ada.example\nmailto:ada@ink.example");
  assert.equal(isChanged(form), false);
  assert.equal(openForm(null).name, "");
});

test("typed text is cleaned, and typing clears an earlier failure", () => {
  const failed = advanceForm(openForm(saved), { type: "failed", sentence: "No." });
  const typed = advanceForm(failed, {
    type: "typed",
    field: "name",
    text: "A\u200bda\u202e\n❤\ufe0f",
  });
  assert.equal(typed.name, "Ada ❤");
  assert.equal(typed.failure, null);
  assert.equal(isChanged(typed), true);
});

test("only what is entered and not saved would be lost", () => {
  assert.equal(isTyped(openForm(saved)), false);
  assert.equal(isTyped(openForm(null)), false);
  const named = advanceForm(openForm(null), { type: "typed", field: "name", text: "Ada" });
  assert.equal(isTyped(named), true);
  assert.equal(isTyped(advanceForm(openForm(saved), { type: "avatar", avatar: "none" })), true);
});

test("input is ignored while the profile is being saved", () => {
  const saving = advanceForm(openForm(saved), { type: "save" });
  assert.equal(advanceForm(saving, { type: "typed", field: "bio", text: "Later" }), saving);
  assert.equal(advanceForm(saving, { type: "avatar", avatar: "none" }), saving);
});

test("after a save, the form shows the saved profile", () => {
  const saving = advanceForm(openForm(null), { type: "save" });
  const done = advanceForm(saving, { type: "saved", profile: saved });
  assert.equal(done.state, "saved");
  assert.equal(done.name, "Ada Ink");
  assert.equal(isChanged(done), false);
});

test("a failed save keeps what was typed", () => {
  const typed = advanceForm(openForm(saved), { type: "typed", field: "bio", text: "New." });
  const failed = advanceForm(advanceForm(typed, { type: "save" }), {
    type: "failed",
    sentence: "The service is away.",
  });
  assert.deepEqual(
    [failed.bio, failed.state, failed.failure],
    ["New.", "editing", "The service is away."],
  );
});

test("zero-width joiners are kept, and line breaks where they are allowed", () => {
  assert.equal(cleanText("نا\u200cم", false), "نا\u200cم");
  assert.equal(cleanText("one\r\ntwo\tthree", true), "one\ntwo three");
  assert.equal(cleanText("one\ntwo", false), "one two");
});

test("a name is neither empty, nor too long, nor an address", () => {
  for (const name of ["", "  ", "x".repeat(65), "0x12", "vitalik.eth", "I am 0xdead", "０ｘff"]) {
    assert.notEqual(nameProblem(name), null, name);
  }
  for (const name of ["x".repeat(64), "Oxford", "Beth", "李白", "🖋".repeat(64)]) {
    assert.equal(nameProblem(name), null, name);
  }
});

test("a bio has at most 500 characters", () => {
  assert.equal(bioProblem("é".normalize("NFD").repeat(500)), null);
  assert.notEqual(bioProblem("x".repeat(501)), null);
});

test("links get the scheme that is missing", () => {
  assert.deepEqual(parseLinks(" ada.example/blog \n\nada@ink.example\nhttps://b.example"), [
    "https://ada.example/blog",
    "mailto:ada@ink.example",
    "https://b.example",
  ]);
});

test("links that the service refuses are named", () => {
  const links = [
    "javascript:alert(1)",
    "http://a.example",
    "https://u@a.example",
    "https://",
    "a b",
  ];
  for (const link of links) assert.notEqual(linksProblem(link), null, link);
  assert.notEqual(linksProblem("a.example\n".repeat(6)), null);
  assert.equal(linksProblem("a.example\n".repeat(5)), null);
});

test("the first problem names its field", () => {
  const form = { ...openForm(saved), name: "", links: "javascript:x" };
  assert.equal(problemOf(form)?.field, "profile-name");
  assert.equal(problemOf({ ...form, name: "Ada" })?.field, "profile-links");
  assert.equal(problemOf(openForm(saved)), null);
});

test("removing a picture is a change only where there is one", () => {
  assert.equal(isChanged({ ...openForm(saved), avatar: "none" }), true);
  assert.equal(isChanged({ ...openForm({ ...saved, avatarCid: null }), avatar: "none" }), false);
});
