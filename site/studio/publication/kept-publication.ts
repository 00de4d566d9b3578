/** What this browser keeps of a publication: its form and progress at once, its pictures beside. */

import { BrowserDatabase } from "../../page/database.ts";
import { recall, remember, tryToKeep } from "../../page/storage.ts";
import type { Progress } from "./progress.ts";
import type { Crop } from "./thumbnail/crop.ts";

/** What the author has filled in, as it was typed. */
export interface Form {
  readonly title: string;
  readonly description: string;
  readonly price: string;
  readonly tags: readonly string[];
  /** What is typed in the field of the hashtags and is none yet. */
  readonly tagText?: string;
  /** Whether the picture is the author's own or made from the title. */
  readonly picture: "own" | "made";
  readonly crop: Crop | null;
}

export interface Pictures {
  /** The picture as it was chosen. */
  readonly source: Blob | null;
  /** What is uploaded; kept until the post is listed, as another version may need it. */
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

/** Keep a form, or forget it if null. False if this browser does not keep it. */
export const keepForm = (account: string, key: string, form: Form | null): boolean =>
  tryToKeep(formKey(placeOf(account, key)), form);

export const recallProgress = (account: string, key: string): Progress | null =>
  recall<Progress>(progressKey(placeOf(account, key)));

/** Written before this returns: nothing can come between a hash and its record. */
export const keepProgress = (account: string, key: string, progress: Progress | null): void =>
  remember(progressKey(placeOf(account, key)), progress);

/** Hear of progress that another tab keeps; null if it has forgotten it. The result ends this. */
export const hearProgress = (
  account: string,
  key: string,
  hear: (progress: Progress | null) => void,
): (() => void) => hearKept(progressKey(placeOf(account, key)), hear);

/** Hear of what another tab keeps at a place; null if it has forgotten it. The result ends this. */
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

/** Keep pictures, or forget them if null. Throws if this browser keeps nothing. */
export async function keepPictures(
  account: string,
  key: string,
  pictures: Pictures | null,
): Promise<void> {
  const place = placeOf(account, key);
  if (pictures) await database.run(STORE, "readwrite", (store) => store.put(pictures, place));
  else await database.run(STORE, "readwrite", (store) => store.delete(place));
}
