import assert from "node:assert/strict";
import { test } from "node:test";
import { drawCrop, drawTitle } from "./thumbnails.ts";

/** A canvas that records what is drawn on it. */
function canvasOf(drawn: string[]): HTMLCanvasElement {
  const context = {
    fillRect: () => undefined,
    drawImage: () => drawn.push("picture"),
    fillText: (text: string) => drawn.push(text),
    measureText: () => ({ width: 1 }),
  };
  return { width: 600, height: 400, getContext: () => context } as unknown as HTMLCanvasElement;
}

/** Fonts that are loaded when the returned function is called. */
function slowFonts(): () => void {
  let loaded = () => {};
  const loading = new Promise<void>((resolve) => {
    loaded = resolve;
  });
  Object.assign(globalThis, { document: { fonts: { load: () => loading } } });
  return loaded;
}

test("a title whose font loads late is not drawn over a picture", async () => {
  const loaded = slowFonts();
  const drawn: string[] = [];
  const canvas = canvasOf(drawn);
  const drawing = drawTitle(canvas, "Title");
  drawCrop(canvas, {} as ImageBitmap, { x: 0, y: 0, width: 600 });
  loaded();
  await drawing;
  assert.deepEqual(drawn, ["picture"]);
});

test("of two titles that wait for their font, only the later one is drawn", async () => {
  const loaded = slowFonts();
  const drawn: string[] = [];
  const canvas = canvasOf(drawn);
  const drawings = [drawTitle(canvas, "One"), drawTitle(canvas, "Two")];
  loaded();
  await Promise.all(drawings);
  assert.deepEqual(drawn, ["Two"]);
});
