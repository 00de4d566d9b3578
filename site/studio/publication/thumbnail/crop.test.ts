import assert from "node:assert/strict";
import { test } from "node:test";
import {
  cropByKey,
  cropHeight,
  fullCrop,
  moveCrop,
  SQUARE,
  thumbnailSize,
  zoomCrop,
  zoomOf,
} from "./crop.ts";

const WIDE = { width: 2000, height: 1000 };
const TALL = { width: 900, height: 1600 };
const LIMITS = { pixels: 16_000_000, side: 16_384 };

test("the first crop is the largest one with ratio 3:2, from the middle", () => {
  assert.deepEqual(fullCrop(WIDE), { x: 250, y: 0, width: 1500 });
  assert.deepEqual(fullCrop(TALL), { x: 0, y: 500, width: 900 });
});

test("a crop stays within the picture", () => {
  assert.deepEqual(moveCrop(fullCrop(WIDE), WIDE, -9999, -50), { x: 0, y: 0, width: 1500 });
  assert.deepEqual(moveCrop(fullCrop(TALL), TALL, 10, 9999), { x: 0, y: 1000, width: 900 });
});

test("zooming keeps the point under the pointer", () => {
  const crop = zoomCrop(fullCrop(WIDE), WIDE, 2, { x: 1, y: 0 });
  assert.deepEqual(crop, { x: 1000, y: 0, width: 750 });
  assert.equal(zoomOf(crop, WIDE), 2);
});

test("the zoom is between the largest crop that fits and eight times as close", () => {
  assert.deepEqual(zoomCrop(fullCrop(WIDE), WIDE, 0.1), fullCrop(WIDE));
  assert.equal(zoomOf(zoomCrop(fullCrop(WIDE), WIDE, 99), WIDE), 8);
});

test("zooming out at an edge moves the crop back into the picture", () => {
  const corner = moveCrop(zoomCrop(fullCrop(WIDE), WIDE, 4), WIDE, 9999, 9999);
  const out = zoomCrop(corner, WIDE, 1);
  assert.equal(out.x + out.width, WIDE.width);
  assert.equal(out.y + cropHeight(out), WIDE.height);
});

test("a thumbnail is exactly 3:2, never enlarged and at most 1200 wide", () => {
  assert.deepEqual(thumbnailSize({ x: 0, y: 0, width: 5000 }, LIMITS), {
    width: 1200,
    height: 800,
  });
  assert.deepEqual(thumbnailSize({ x: 0, y: 0, width: 500 }, LIMITS), { width: 498, height: 332 });
});

test("a thumbnail obeys the limits of the service", () => {
  const crop = { x: 0, y: 0, width: 5000 };
  assert.deepEqual(thumbnailSize(crop, { pixels: 1e9, side: 300 }), { width: 300, height: 200 });
  const few = thumbnailSize(crop, { pixels: 60_000, side: 16_384 });
  assert.deepEqual(few, { width: 300, height: 200 });
});

test("arrows move, plus and minus zoom, Home shows everything, other keys do nothing", () => {
  const crop = zoomCrop(fullCrop(WIDE), WIDE, 2);
  assert.equal(cropByKey(crop, WIDE, "ArrowRight", false)?.x, crop.x + 37.5);
  assert.equal(cropByKey(crop, WIDE, "ArrowUp", true)?.y, crop.y - 150);
  assert.ok(zoomOf(cropByKey(crop, WIDE, "+", false) ?? crop, WIDE) > 2);
  assert.ok(zoomOf(cropByKey(crop, WIDE, "-", false) ?? crop, WIDE) < 2);
  assert.deepEqual(cropByKey(crop, WIDE, "Home", false), fullCrop(WIDE));
  assert.equal(cropByKey(crop, WIDE, "Tab", false), null);
});

test("a square crop stays square when it is moved and zoomed", () => {
  const full = fullCrop(WIDE, SQUARE);
  assert.deepEqual(full, { x: 500, y: 0, width: 1000, ratio: 1 });
  const near = zoomCrop(full, WIDE, 2);
  assert.deepEqual(near, { x: 750, y: 250, width: 500, ratio: 1 });
  assert.equal(cropHeight(near), 500);
  assert.deepEqual(moveCrop(near, WIDE, 9999, 9999), { x: 1500, y: 500, width: 500, ratio: 1 });
  assert.deepEqual(cropByKey(near, WIDE, "0", false), full);
});
