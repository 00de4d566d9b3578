/** Pictures that authors insert into a text: made small enough, and without camera metadata. */

import { WORDS } from "../../words.ts";

/** The longest side and the encoding quality, from the best to the smallest. */
const TRIALS: readonly { readonly side: number; readonly quality: number }[] = [
  { side: 1600, quality: 0.82 },
  { side: 1600, quality: 0.68 },
  { side: 1200, quality: 0.72 },
  { side: 900, quality: 0.7 },
  { side: 640, quality: 0.65 },
];
/** The target size of a picture in bytes. */
const GOOD_SIZE = 400 * 1024;

/** A picture that cannot be used, with a sentence for the author. */
export class UnusablePicture extends Error {
  override readonly name = "UnusablePicture";
}

/** The pictures among pasted or dropped files. */
export const picturesOf = (data: DataTransfer | null): File[] =>
  [...(data?.files ?? [])].filter(({ type }) => type.startsWith("image/"));

/** A picture as a `data:` URL that takes at most `room` bytes of text. */
export async function encodePicture(file: Blob & { name?: string }, room: number): Promise<string> {
  const name = file.name || WORDS.thisPicture;
  const bitmap = await createImageBitmap(file).catch(() => {
    throw new UnusablePicture(WORDS.unreadablePicture(name));
  });
  try {
    let smallest: Blob | null = null;
    for (const { side, quality } of TRIALS) {
      const made = await encode(bitmap, side, quality);
      if (!smallest || made.size < smallest.size) smallest = made;
      if (made.size <= Math.min(GOOD_SIZE, textRoom(room))) break;
    }
    if (!smallest || smallest.size > textRoom(room))
      throw new UnusablePicture(WORDS.theresNoRoomText(name));
    return await dataAddress(smallest);
  } finally {
    bitmap.close();
  }
}

/** How many bytes fit into a text as base64. */
const textRoom = (room: number): number => Math.floor((room - 64) * 0.75);

async function encode(bitmap: ImageBitmap, side: number, quality: number): Promise<Blob> {
  const scale = Math.min(1, side / Math.max(bitmap.width, bitmap.height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(bitmap.width * scale));
  canvas.height = Math.max(1, Math.round(bitmap.height * scale));
  canvas.getContext("2d")?.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  const made = await toBlob(canvas, "image/webp", quality);
  // Browsers that cannot encode WebP return a PNG instead, which is large.
  return made.type === "image/webp" ? made : toBlob(canvas, "image/jpeg", quality);
}

const toBlob = (canvas: HTMLCanvasElement, type: string, quality: number): Promise<Blob> =>
  new Promise((resolve, reject) =>
    canvas.toBlob(
      (blob) => (blob ? resolve(blob) : reject(new UnusablePicture(WORDS.pictureTooLarge))),
      type,
      quality,
    ),
  );

const dataAddress = (blob: Blob): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });

/** The default description of a picture: its file name without the extension. */
export const altOf = (name: string): string =>
  /^(?:image|screenshot|img|dsc|pxl|photo)[\W_\d]*\b/i.test(name)
    ? ""
    : name
        .replace(/\.\w+$/, "")
        .replace(/[[\]\\\n_-]+/g, " ")
        .trim();
