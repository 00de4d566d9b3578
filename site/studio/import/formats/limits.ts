/** The limits of an import, separate from the code that reads archives: pasting needs only them. */

/** A file or an archive that is not imported, with a sentence for the author. */
export class Unreadable extends Error {
  override readonly name = "Unreadable";
}

export const MEBIBYTE = 1024 * 1024;

export const LIMITS = {
  /** The maximum number of files and zip entries. */
  files: 20_000,
  /** The maximum bytes of a file with one post. */
  text: 4 * MEBIBYTE,
  /** The maximum bytes of a file with all posts: Ghost's JSON, WordPress' XML, Substack's list. */
  export: 64 * MEBIBYTE,
  /** The maximum characters of a post without its pictures. */
  characters: 1_000_000,
  picture: 32 * MEBIBYTE,
  /** The maximum bytes that are inflated while one set of files is read. */
  inflated: 512 * MEBIBYTE,
  /** The maximum inflated bytes per compressed byte above a megabyte: text has 3 to 20. */
  ratio: 200,
  posts: 5_000,
};
