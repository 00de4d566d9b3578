/** A failed request, with a button to repeat it. */

import { WORDS } from "./words.ts";

export function FailureNote({ sentence, onRetry }: { sentence: string; onRetry(): void }) {
  return (
    <div class="studio-note bad" role="alert">
      <p>{sentence}</p>
      <button type="button" onClick={onRetry}>
        {WORDS.tryAgain}
      </button>
    </div>
  );
}
