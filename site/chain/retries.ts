/** Questions to the chain and the service that are asked again by themselves while nobody responds. */

import { type ReadonlySignal, signal } from "@preact/signals-core";

export interface RetryPorts {
  /** Who does not respond, such as “The chain’s node”; null if asking again is of no use. */
  nameSilent(error: unknown): string | null;
  pause(seconds: number): Promise<void>;
}

/** How often a question is asked again, which takes about a minute in all. */
const ATTEMPTS = 7;

const LONGEST_PAUSE = 15;

export class Retries {
  private readonly said = signal<string | null>(null);

  constructor(private readonly ports: RetryPorts) {}

  /** What is waited for; null while everybody responds. */
  get note(): ReadonlySignal<string | null> {
    return this.said;
  }

  /** Ask until there is a response. Throws what stays, or what asking again cannot change. */
  async ask<T>(question: () => Promise<T>): Promise<T> {
    try {
      for (let failed = 0; ; failed += 1) {
        try {
          return await question();
        } catch (error) {
          const silent = this.ports.nameSilent(error);
          if (silent === null || failed === ATTEMPTS) throw error;
          const seconds = Math.min(2 ** failed, LONGEST_PAUSE);
          this.said.value = `${silent} does not respond. Nothing is lost: it is asked again every few seconds.`;
          await this.ports.pause(seconds);
        }
      }
    } finally {
      this.said.value = null;
    }
  }

  /** Wait before the next look, longer from look to look. */
  rest(looks: number): Promise<void> {
    return this.ports.pause(Math.min(1 + looks / 20, 4));
  }
}
