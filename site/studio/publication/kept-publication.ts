/**
 * A publication as stored in this browser: form and progress synchronously, pictures separately.
 */

import { BrowserDatabase } from "../../page/database.ts";
import { recall, remember, tryToKeep } from "../../page/storage.ts";
import type { Progress } from "./progress.ts";
import type { Crop } from "./thumbnail/crop.ts";

/** The author's input, as typed. */
export interface Form {
  readonly title: string;
  readonly description: string;
  readonly price: string;
  readonly tags: readonly string[];
  /** Text in the hashtag field that is not a hashtag yet. */
  readonly tagText?: string;
  /** Whether the picture is the author's own or made from the title. */
  readonly picture: "own" | "made";
  readonly crop: Crop | null;
}

export interface Pictures {
  /** The picture as it was chosen. */
  readonly source: Blob | null;
  /** The uploaded picture; kept until the post is listed, as another version may need it. */
  readonly thumbnail: Blob | null;
}

const STORE = "pictures";

const database = new BrowserDatabase("imprint-publishing", (made) => {
  made.createObjectStore(STORE);
});

const placeOf = (account: string, key: string): string => `${account.toLowerCase()}.${key}`;
const formKey = (place: string): string => `imprint.publication.form.${place}`;
const progressKey = (place: string): string => `imprint.publication.${place}`;

export const recallForm = (account: string, key: string): Form | null =>
  recall<Form>(formKey(placeOf(account, key)));

/** Store a form, or remove it if null. False if this browser does not store it. */
export const keepForm = (account: string, key: string, form: Form | null): boolean =>
  tryToKeep(formKey(placeOf(account, key)), form);

export const recallProgress = (account: string, key: string): Progress | null =>
  recall<Progress>(progressKey(placeOf(account, key)));

/** Store the progress at once, so that nothing can come between a hash and its record. */
export const keepProgress = (account: string, key: string, progress: Progress | null): void =>
  remember(progressKey(placeOf(account, key)), progress);

/**
 * Observe the progress that another tab stores; null if it was removed. Returns a function that
 * stops observing.
 */
export const hearProgress = (
  account: string,
  key: string,
  hear: (progress: Progress | null) => void,
): (() => void) => hearKept(progressKey(placeOf(account, key)), hear);

/**
 * Observe what another tab stores under a key; null if it was removed. Returns a function that
 * stops observing.
 */
export function hearKept<T>(place: string, hear: (kept: T | null) => void): () => void {
  const listen = (event: StorageEvent) => {
    if (event.key === place) hear(event.newValue ? (JSON.parse(event.newValue) as T) : null);
  };
  addEventListener("storage", listen);
  return () => removeEventListener("storage", listen);
}

export async function recallPictures(account: string, key: string): Promise<Pictures> {
  const none = { source: null, thumbnail: null };
  try {
    return (
      (await database.run(STORE, "readonly", (store) => store.get(placeOf(account, key)))) ?? none
    );
  } catch {
    return none;
  }
}

/** Store pictures, or remove them if null. Throws if this browser stores nothing. */
export async function keepPictures(
  account: string,
  key: string,
  pictures: Pictures | null,
): Promise<void> {
  const place = placeOf(account, key);
  if (pictures) await database.run(STORE, "readwrite", (store) => store.put(pictures, place));
  else await database.run(STORE, "readwrite", (store) => store.delete(place));
}
