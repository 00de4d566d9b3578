/** The geometry of a crop: which part of a picture, in its own pixels, becomes the thumbnail. */

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** The part of the picture that is kept; its height follows from its width. */
export interface Crop {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  /** The width divided by the height; by default that of thumbnails. */
  readonly ratio?: number;
}

interface PictureLimits {
  readonly pixels: number;
  readonly side: number;
}

/** The aspect ratio of every thumbnail: cards of Farcaster and of the lists are 3:2. */
export const RATIO = 3 / 2;

/** The aspect ratio of the pictures of authors. */
export const SQUARE = 1;

/** The width of a thumbnail, if the picture has enough pixels. */
const FULL_WIDTH = 1200;

/** The maximum zoom. */
const MOST_ZOOM = 8;

export const ratioOf = (crop: Crop): number => crop.ratio ?? RATIO;

export const cropHeight = (crop: Crop): number => crop.width / ratioOf(crop);

/** The width of the largest part with this aspect ratio. */
const widest = (size: Size, ratio: number): number => Math.min(size.width, size.height * ratio);

/** The largest part with this aspect ratio, from the middle. */
export function fullCrop(size: Size, ratio = RATIO): Crop {
  const width = widest(size, ratio);
  const crop = { x: (size.width - width) / 2, y: (size.height - width / ratio) / 2, width };
  return ratio === RATIO ? crop : { ...crop, ratio };
}

/** The same part, moved by this many pixels of the picture and kept within it. */
export function moveCrop(crop: Crop, size: Size, dx: number, dy: number): Crop {
  return within({ ...crop, x: crop.x + dx, y: crop.y + dy }, size);
}

/** The zoom of a crop: 1 is everything that fits, `MOST_ZOOM` the closest. */
export const zoomOf = (crop: Crop, size: Size): number => widest(size, ratioOf(crop)) / crop.width;

/** Zoom to this level; the point at `anchor` (0 to 1 across and down the crop) does not move. */
export function zoomCrop(
  crop: Crop,
  size: Size,
  zoom: number,
  anchor: { x: number; y: number } = { x: 0.5, y: 0.5 },
): Crop {
  const ratio = ratioOf(crop);
  const width = widest(size, ratio) / Math.min(Math.max(zoom, 1), MOST_ZOOM);
  const less = crop.width - width;
  const [x, y] = [crop.x + less * anchor.x, crop.y + (less / ratio) * anchor.y];
  return within({ ...crop, x, y, width }, size);
}

function within(crop: Crop, size: Size): Crop {
  const between = (value: number, most: number) => Math.min(Math.max(value, 0), Math.max(most, 0));
  return {
    ...crop,
    x: between(crop.x, size.width - crop.width),
    y: between(crop.y, size.height - cropHeight(crop)),
  };
}

/** The size of the thumbnail in whole pixels: never enlarged, and within the service's limits. */
export function thumbnailSize(crop: Crop, limits: PictureLimits): Size {
  const most = Math.min(FULL_WIDTH, limits.side, Math.sqrt(limits.pixels * RATIO), crop.width);
  // A multiple of three, so that the height is whole as well.
  const width = Math.max(3, Math.floor(most / 3) * 3);
  return { width, height: (width / 3) * 2 };
}

/**
 * The effect of a key on a crop, or null if it has none. A step is a twentieth; Shift makes it
 * four.
 */
export function cropByKey(crop: Crop, size: Size, key: string, shift: boolean): Crop | null {
  const step = (crop.width / 20) * (shift ? 4 : 1);
  const zoom = zoomOf(crop, size);
  switch (key) {
    case "ArrowLeft":
      return moveCrop(crop, size, -step, 0);
    case "ArrowRight":
      return moveCrop(crop, size, step, 0);
    case "ArrowUp":
      return moveCrop(crop, size, 0, -step);
    case "ArrowDown":
      return moveCrop(crop, size, 0, step);
    case "+":
    case "=":
      return zoomCrop(crop, size, zoom * 1.1);
    case "-":
      return zoomCrop(crop, size, zoom / 1.1);
    case "0":
    case "Home":
      return fullCrop(size, ratioOf(crop));
    default:
      return null;
  }
}
