/** The client of a service: everything for readers and for authors. */

import type { Wallet } from "./wallet.js";
import { ImprintWriter } from "./writer.js";
import {
  openWritingSession,
  type WritingSession,
  type WritingSessionOptions,
} from "./writing-session.js";

export class Imprint extends ImprintWriter {
  /** Ask the wallet for one signature that lets a new key of this browser save drafts for it. */
  openWritingSession(wallet: Wallet, options: WritingSessionOptions = {}): Promise<WritingSession> {
    return openWritingSession(this, wallet, options);
  }
}
