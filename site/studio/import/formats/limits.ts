/** The limits of an import, separate from the code that reads archives: pasting needs only them. */

/** A file or an archive that is not imported, with a sentence for the author. */
export class Unreadable extends Error {
  override readonly name = "Unreadable";
}

export const MEBIBYTE = 1024 * 1024;

export const LIMITS = {
  /** Files and entries of zips together. */
  files: 20_000,
  /** One post in a file of its own. */
  text: 4 * MEBIBYTE,
  /** A file with all posts: Ghost's JSON, WordPress' XML, Substack's list. */
  export: 64 * MEBIBYTE,
  /** Of a post without its pictures. */
  characters: 1_000_000,
  picture: 32 * MEBIBYTE,
  /** Everything that is inflated while one set of files is read. */
  inflated: 512 * MEBIBYTE,
  /** Inflated bytes per compressed one, for entries above a megabyte: text has 3 to 20. */
  ratio: 200,
  posts: 5_000,
};
