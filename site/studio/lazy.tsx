/** Views whose script is loaded when they are first shown. */

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { WORDS } from "./words.ts";

type Loaded<Props> =
  | { readonly view: ComponentType<Props> }
  | { readonly view: null; readonly hasFailed: boolean };

/** A component that loads its view, and offers to retry if the network is down. */
export function lazy<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  name: string,
): ComponentType<Props> {
  let kept: ComponentType<Props> | null = null;
  return function Lazy(props: Props) {
    const [loaded, setLoaded] = useState<Loaded<Props>>(
      kept ? { view: kept } : { view: null, hasFailed: false },
    );
    const [attempt, setAttempt] = useState(0);
    useEffect(() => {
      if (loaded.view) return;
      let isShown = true;
      load().then(
        (view) => {
          kept = view;
          if (isShown) setLoaded({ view });
        },
        () => isShown && setLoaded({ view: null, hasFailed: true }),
      );
      return () => {
        isShown = false;
      };
    }, [attempt]);
    if (loaded.view) return <loaded.view {...props} />;
    if (!loaded.hasFailed)
      return (
        <p class="studio-wait" role="status">
          {WORDS.opening(name)}
        </p>
      );
    const again = () => {
      setLoaded({ view: null, hasFailed: false });
      setAttempt(attempt + 1);
    };
    return (
      <div class="studio-empty" role="alert">
        <p>{WORDS.couldntLoadedOnline(name.replace(/^./, (letter) => letter.toUpperCase()))}</p>
        <button type="button" onClick={again}>
          {WORDS.tryAgain}
        </button>
      </div>
    );
  };
}
