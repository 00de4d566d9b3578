/** A request as it was sent, and its response, as recorded by the client's `fetch`. */

import { Unreachable } from "imprint-press";
import { WORDS } from "../words.ts";

export interface Exchange {
  method: string;
  address: string;
  body: string | null;
  status: number;
  statusText: string;
  headers: [string, string][];
  text: string;
  milliseconds: number;
}

/** Headers that are relevant to the operation. */
const SHOWN = [
  "content-type",
  "content-length",
  "content-range",
  "etag",
  "link",
  "location",
  "retry-after",
  "cache-control",
  "x-request-id",
];

/** The maximum number of characters shown of a body. */
export const MOST_SHOWN = 20_000;

/** A fetch that records the last exchange. Throws `Unreachable`. */
export class Recorder {
  last: Exchange | null = null;

  fetch = async (address: string, init: RequestInit = {}): Promise<Response> => {
    const started = performance.now();
    const response = await fetch(address, init).catch((error: unknown) => {
      throw new Unreachable(WORDS.serviceDoesNotRespond, null, null, { cause: error });
    });
    const bytes = await response.clone().arrayBuffer();
    const milliseconds = performance.now() - started;
    this.last = {
      method: init.method ?? "GET",
      address,
      body: typeof init.body === "string" ? init.body : init.body ? WORDS.aForm : null,
      status: response.status,
      statusText: response.statusText,
      headers: [...response.headers].filter(([name]) => SHOWN.includes(name)),
      text: readBody(bytes, response.headers.get("Content-Type") ?? ""),
      milliseconds,
    };
    return response;
  };
}

/** A readable body: indented JSON, text up to a limit, or only the number of bytes. */
export function readBody(bytes: ArrayBuffer, mediaType: string): string {
  if (bytes.byteLength === 0) return "";
  if (!/json|text|xml|csv/.test(mediaType)) return WORDS.bytesOf(bytes.byteLength, mediaType);
  let text = new TextDecoder().decode(bytes);
  if (/json/.test(mediaType)) {
    try {
      text = JSON.stringify(JSON.parse(text), null, 2);
    } catch {
      // Shown unchanged.
    }
  }
  if (text.length <= MOST_SHOWN) return text;
  return WORDS.charactersMore(text.slice(0, MOST_SHOWN), text.length - MOST_SHOWN);
}
