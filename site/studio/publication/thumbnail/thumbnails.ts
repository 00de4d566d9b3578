/** Thumbnails: pictures that are chosen and cropped, or made from the title. */

import { WORDS } from "../../words.ts";
import { type Crop, cropHeight, RATIO, type Size, thumbnailSize } from "./crop.ts";

interface ThumbnailLimits {
  readonly bytes: number;
  readonly pixels: number;
  readonly side: number;
}

/** The maximum bytes of a file; larger files are refused before they are decoded. */
const LARGEST_SOURCE = 60_000_000;

/** The maximum bytes up to which a line drawing stays a PNG. */
const LARGEST_PNG = 1_000_000;

const QUALITIES = [0.92, 0.85, 0.75, 0.6, 0.4];

/** Decode a picture. Throws `RangeError` with a sentence for the author. */
export async function decodePicture(source: Blob): Promise<ImageBitmap> {
  if (source.size > LARGEST_SOURCE) {
    throw new RangeError(WORDS.pictureLargerThan60);
  }
  try {
    return await createImageBitmap(source);
  } catch {
    throw new RangeError(WORDS.browserCantShowPicture);
  }
}

/** The latest drawing of each canvas, which replaces earlier ones that had to wait. */
const latestDrawings = new WeakMap<HTMLCanvasElement, object>();

/** Draw the part of a picture onto the whole canvas. */
export function drawCrop(canvas: HTMLCanvasElement, picture: ImageBitmap, crop: Crop): void {
  latestDrawings.delete(canvas);
  const context = contextOf(canvas);
  context.fillStyle = "#fff";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.imageSmoothingQuality = "high";
  const { x, y, width } = crop;
  const height = cropHeight(crop);
  context.drawImage(picture, x, y, width, height, 0, 0, canvas.width, canvas.height);
}

/** The thumbnail of a crop, within the limits. Throws `RangeError` with a sentence. */
export async function renderCrop(
  picture: ImageBitmap,
  crop: Crop,
  limits: ThumbnailLimits,
  mediaType: string,
): Promise<Blob> {
  const canvas = canvasOf(thumbnailSize(crop, limits));
  drawCrop(canvas, picture, crop);
  return encode(canvas, limits.bytes, mediaType === "image/png");
}

/** The square of a crop: never enlarged, of this side and this many bytes at most. */
export async function renderSquare(
  picture: ImageBitmap,
  crop: Crop,
  side: number,
  bytes: number,
  mediaType: string,
): Promise<Blob> {
  const width = Math.max(1, Math.min(side, Math.floor(crop.width)));
  const canvas = canvasOf({ width, height: width });
  drawCrop(canvas, picture, crop);
  return encode(canvas, bytes, mediaType === "image/png");
}

/** The thumbnail that is made from a title, within the limits. */
export async function renderTitle(title: string, limits: ThumbnailLimits): Promise<Blob> {
  const canvas = canvasOf(thumbnailSize({ x: 0, y: 0, width: 1200 }, limits));
  await drawTitle(canvas, title);
  return encode(canvas, limits.bytes, true);
}

/** Pairs of background and text colours with good contrast. */
const PALETTES = [
  ["#24479e", "#f4f1e8"],
  ["#7a2e22", "#f8efe2"],
  ["#19533f", "#eef3e6"],
  ["#3d2f5b", "#f3ecf5"],
  ["#8a5a00", "#fff6e0"],
  ["#28363d", "#e9f0f2"],
] as const;

/** The same title always gets the same colours. */
function paletteOf(title: string): readonly [string, string] {
  let sum = 7;
  for (const character of title) sum = (sum * 31 + (character.codePointAt(0) ?? 0)) % 65_521;
  return PALETTES[sum % PALETTES.length] ?? PALETTES[0];
}

/** Break a text into lines; words that are too wide are broken too. */
function breakLines(text: string, width: number, measure: (line: string) => number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(/\s+/).filter(Boolean)) {
    const longer = line ? `${line} ${word}` : word;
    if (measure(longer) <= width) {
      line = longer;
      continue;
    }
    if (line) lines.push(line);
    line = "";
    for (const character of word) {
      if (line && measure(line + character) > width) {
        lines.push(line);
        line = "";
      }
      line += character;
    }
  }
  return line ? [...lines, line] : lines;
}

/** Draw a title as a picture: one colour, a rule, and the words in the typeface of the posts. */
export async function drawTitle(canvas: HTMLCanvasElement, title: string): Promise<void> {
  const context = contextOf(canvas);
  const { width, height } = canvas;
  const [ground, ink] = paletteOf(title);
  const drawing = {};
  latestDrawings.set(canvas, drawing);
  await document.fonts.load('600 40px "Source Serif 4"').catch(() => undefined);
  if (latestDrawings.get(canvas) !== drawing) return;
  context.fillStyle = ground;
  context.fillRect(0, 0, width, height);
  context.fillStyle = ink;
  const margin = width / 12;
  const inner = width - 2 * margin;
  let size = width / 10;
  let lines: string[] = [];
  for (; size > width / 40; size *= 0.9) {
    context.font = `600 ${size}px "Source Serif 4", Georgia, serif`;
    lines = breakLines(title || WORDS.untitled, inner, (line) => context.measureText(line).width);
    if (lines.length * size * 1.18 <= height / 2) break;
  }
  // In the middle: pages show pictures without their upper and lower edges.
  const top = (height - lines.length * size * 1.18) / 2;
  context.fillRect(margin, top - size * 0.35, width / 10, Math.max(2, width / 200));
  context.textBaseline = "alphabetic";
  for (const [index, line] of lines.entries()) {
    context.fillText(line, margin, top + (index + 0.9) * size * 1.18);
  }
}

function canvasOf({ width, height }: Size): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height || width / RATIO;
  return canvas;
}

function contextOf(canvas: HTMLCanvasElement): CanvasRenderingContext2D {
  const context = canvas.getContext("2d");
  if (!context) throw new RangeError(WORDS.browserCantDrawPictures);
  return context;
}

async function encode(canvas: HTMLCanvasElement, most: number, isDrawing: boolean): Promise<Blob> {
  const make = (type: string, quality?: number) =>
    new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, type, quality));
  if (isDrawing) {
    const png = await make("image/png");
    if (png && png.size <= Math.min(LARGEST_PNG, most)) return png;
  }
  for (const quality of QUALITIES) {
    const jpeg = await make("image/jpeg", quality);
    if (jpeg && jpeg.size <= most) return jpeg;
  }
  throw new RangeError(WORDS.pictureCantMadeSmall);
}
