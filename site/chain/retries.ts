/** Retries requests to the chain and the service with backoff. */

import { type ReadonlySignal, signal } from "@preact/signals-core";
import { WORDS } from "../page/words.ts";

export interface RetryPorts {
  /** Who does not respond, such as “The network”; null if a retry is of no use. */
  nameSilent(error: unknown): string | null;
  pause(seconds: number): Promise<void>;
}

/** The number of retries, which take about a minute in total. */
const ATTEMPTS = 7;

const LONGEST_PAUSE = 15;

/** Wait before a retry or poll. */
export const pause = (seconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, seconds * 1000));

export class Retries {
  private readonly said = signal<string | null>(null);

  constructor(private readonly ports: RetryPorts) {}

  /** Who is being waited for; null while everybody responds. */
  get note(): ReadonlySignal<string | null> {
    return this.said;
  }

  /**
   * Retry until there is a response.
   *
   * Throws an error that a retry cannot fix at once, and any other error after the last retry.
   */
  async ask<T>(question: () => Promise<T>): Promise<T> {
    try {
      for (let failed = 0; ; failed += 1) {
        try {
          return await question();
        } catch (error) {
          const silent = this.ports.nameSilent(error);
          if (silent === null || failed === ATTEMPTS) throw error;
          const seconds = Math.min(2 ** failed, LONGEST_PAUSE);
          this.said.value = WORDS.keepTrying(silent);
          await this.ports.pause(seconds);
        }
      }
    } finally {
      this.said.value = null;
    }
  }

  /** Wait before the next poll, with increasing pauses. */
  rest(polls: number): Promise<void> {
    return this.ports.pause(Math.min(1 + polls / 20, 4));
  }
}
