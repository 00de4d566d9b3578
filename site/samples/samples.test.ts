import assert from "node:assert/strict";
import { test } from "node:test";
import { POST_LIMITS, parseCoin } from "imprint-press";
import { drawPicture, drawPortrait } from "./pictures.ts";
import { AUTHORS, SAMPLES, titleOf } from "./posts.ts";

const bytes = (text: string) => new TextEncoder().encode(text).length;

test("every sample fits the limits of the contract", () => {
  for (const sample of SAMPLES) {
    const title = titleOf(sample);
    assert.ok(title.length > 0 && bytes(title) <= POST_LIMITS.titleBytes, title);
    assert.ok(bytes(sample.description) <= POST_LIMITS.descriptionBytes, title);
    assert.ok(parseCoin(sample.price) <= POST_LIMITS.priceWei, title);
    assert.ok(sample.hashtags.length >= 2 && sample.hashtags.length <= 4, title);
  }
});

test("there are a dozen samples with different titles, free and paid, by several authors", () => {
  assert.equal(new Set(SAMPLES.map(titleOf)).size, 12);
  const free = SAMPLES.filter((sample) => sample.price === "0");
  assert.ok(free.length >= 4 && free.length <= 8);
  assert.ok(new Set(SAMPLES.map((sample) => sample.author)).size >= 3);
});

test("every sample has something to read", () => {
  for (const sample of SAMPLES) {
    const words = sample.text.split(/\s+/).length;
    assert.ok(words >= 140 && words <= 500, `${titleOf(sample)} has ${words} words`);
  }
});

test("one paid sample has an opening, with more below it than above", () => {
  const parts = SAMPLES.map(({ text, price }) => ({ price, parts: text.split("\n<!--more-->\n") }));
  const [opened, ...others] = parts.filter(({ parts }) => parts.length > 1);
  assert.ok(opened && opened.price !== "0" && others.length === 0);
  const [opening = "", rest = ""] = opened.parts;
  assert.ok(opening.length > 300 && rest.length > opening.length);
});

test("nobody buys free posts or their own", () => {
  for (const sample of SAMPLES) {
    assert.ok(!sample.buyers.includes(sample.author), titleOf(sample));
    if (sample.price === "0") assert.deepEqual(sample.buyers, []);
  }
});

test("every author has a name, a few sentences and a portrait of their own", () => {
  const authors = [...new Set(SAMPLES.map((sample) => sample.author))];
  const found = authors.map((number) => AUTHORS.get(number));
  assert.ok(found.every((author) => author !== undefined && author.bio.length > 0));
  assert.equal(new Set(found.map((author) => author?.name)).size, authors.length);
  const drawn = found.map((author) => author && drawPortrait(author.portrait));
  assert.equal(new Set(drawn).size, authors.length);
});

test("every picture is different, and always the same", () => {
  const drawn = SAMPLES.map((sample) => drawPicture(sample.picture));
  assert.equal(new Set(drawn).size, SAMPLES.length);
  assert.deepEqual(
    drawn,
    SAMPLES.map((sample) => drawPicture(sample.picture)),
  );
});

test("a picture references nothing outside the SVG namespace", () => {
  for (const sample of SAMPLES) {
    const addresses = drawPicture(sample.picture).match(/\w+:\/\/[^"]+/g);
    assert.deepEqual(addresses, ["http://www.w3.org/2000/svg"]);
  }
});
