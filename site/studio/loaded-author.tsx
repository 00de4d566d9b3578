/** Loads the service's record of an author, for the views that need it. */

import { type Author, Refusal } from "imprint-press";
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { imprint } from "../page/service.ts";
import { type Account, explain } from "../wallet/index.ts";
import { FailureNote } from "./failure-note.tsx";

interface Props {
  by: Account;
  /** The sentence shown while the author is loading. */
  waiting: string;
  /** The view; null means an account that has neither a post nor a profile. */
  children(author: Author | null): ComponentChildren;
}

export function LoadedAuthor({ by, waiting, children }: Props) {
  const [author, setAuthor] = useState<Author | null | undefined>(undefined);
  const [failure, setFailure] = useState<string | null>(null);
  const load = () => {
    setFailure(null);
    imprint.showAuthor(by.address).then(setAuthor, (error) => {
      if (error instanceof Refusal && error.code === "not_found") setAuthor(null);
      else setFailure(explain(error).sentence);
    });
  };
  useEffect(load, []);
  if (failure) return <FailureNote sentence={failure} onRetry={load} />;
  if (author === undefined) return <p role="status">{waiting}</p>;
  return <>{children(author)}</>;
}
