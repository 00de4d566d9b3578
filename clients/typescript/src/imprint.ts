/** The client of a service: everything that readers do, and everything that authors do. */

import type { Wallet } from "./wallet.js";
import { ImprintWriter } from "./writer.js";
import {
  openWritingSession,
  type WritingSession,
  type WritingSessionOptions,
} from "./writing-session.js";

export class Imprint extends ImprintWriter {
  /** Ask the wallet, with one signature, to let a new key of this browser save drafts for it. */
  openWritingSession(wallet: Wallet, options: WritingSessionOptions = {}): Promise<WritingSession> {
    return openWritingSession(this, wallet, options);
  }
}
