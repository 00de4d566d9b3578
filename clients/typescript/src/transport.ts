/** Requests over HTTP, and how failures are reported. */

import { Refusal, Unreachable } from "./problems.js";
import type { Problem } from "./records.js";

export type Fetch = (input: string, init?: RequestInit) => Promise<Response>;

type QueryValue = string | number | boolean | bigint | null | undefined | string[];

/** A path with its query; undefined and null members are left out, and lists are repeated. */
export function addQuery(path: string, query: { readonly [name: string]: QueryValue }): string {
  const pairs = Object.entries(query).flatMap(([name, value]) => {
    const values = Array.isArray(value) ? value : [value];
    return values.filter((each) => each != null).map((each) => [name, String(each)]);
  });
  return pairs.length ? `${path}?${new URLSearchParams(pairs)}` : path;
}

/**
 * A response with a success status, or with the status `except`.
 *
 * Throws `Refusal` or `Unreachable`, or the signal's reason when it is aborted.
 */
export async function fetchResponse(
  fetch: Fetch,
  url: string,
  init: RequestInit,
  except?: number,
): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, init);
  } catch (error) {
    throw asUnreachable(error, init.signal);
  }
  if (response.ok || response.status === except) return response;
  throw await readFailure(response);
}

/** The body of a response. Throws `Unreachable` if it is truncated or not JSON. */
export async function readJson<T>(response: Response, signal?: AbortSignal | null): Promise<T> {
  try {
    return (await response.json()) as T;
  } catch (error) {
    throw asUnreachable(error, signal);
  }
}

/** Wait. Throws the signal's reason at once when it is aborted. */
export function pause(ms: number, signal?: AbortSignal | null): Promise<void> {
  let timer: ReturnType<typeof setTimeout>;
  const passed = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  return endBy(passed, signal).finally(() => clearTimeout(timer));
}

/** Await a promise. Throws the signal's reason at once when it is aborted. */
export async function endBy<T>(promised: Promise<T>, signal?: AbortSignal | null): Promise<T> {
  if (!signal) return promised;
  let end = () => {};
  const ended = new Promise<never>((_, reject) => {
    end = () => reject(signal.reason);
  });
  if (signal.aborted) end();
  signal.addEventListener("abort", end);
  try {
    return await Promise.race([ended, promised]);
  } finally {
    signal.removeEventListener("abort", end);
  }
}

/** The error for a response with an error status. */
export async function readFailure(response: Response): Promise<Refusal | Unreachable> {
  const { status } = response;
  const wait = response.headers.get("Retry-After") ?? "";
  const retryAfter = /^\d+$/.test(wait) ? Number(wait) : null;
  const problem = (await response.json().catch(() => null)) as Partial<Problem> | null;
  if (typeof problem?.code === "string") return new Refusal(problem as Problem, retryAfter);
  return new Unreachable(
    `The address responded with status ${status}, but not as Imprint does.`,
    status,
    retryAfter,
  );
}

function asUnreachable(error: unknown, signal?: AbortSignal | null): unknown {
  if (signal?.aborted) return error;
  const message = "The service cannot be reached. Check the connection and try again.";
  return new Unreachable(message, null, null, { cause: error });
}
