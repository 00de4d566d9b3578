/** The library as one zip, packed in this browser. */

import {
  BlobWriter,
  TextReader,
  Uint8ArrayReader,
  ZipWriter,
} from "@zip.js/zip.js/lib/zip-core-custom.js";
import { exportLibrary, type ImprintReader, type LibraryOptions } from "imprint-press";

/** A zip of everything that the session's address holds. */
export async function packLibrary(reader: ImprintReader, options: LibraryOptions): Promise<Blob> {
  // The policy of the pages allows no workers.
  const zip = new ZipWriter(new BlobWriter("application/zip"), { useWebWorkers: false });
  for await (const { path, content } of exportLibrary(reader, options)) {
    const isText = typeof content === "string";
    await zip.add(path, isText ? new TextReader(content) : new Uint8ArrayReader(content));
  }
  return zip.close();
}
