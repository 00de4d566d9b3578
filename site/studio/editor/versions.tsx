/** The versions of a draft that this browser keeps: compared with the text, and brought back. */

import { useEffect, useRef, useState } from "preact/hooks";
import { moment } from "../../page/format.ts";
import type { OpenDraft } from "../saves/open-draft.ts";
import { countWords } from "../store/draft-text.ts";
import { type DraftVersion, draftVersions } from "../store/versions.ts";
import { WORDS } from "../words.ts";
import { Differences } from "./differences.tsx";

interface VersionsPanelProps {
  readonly draft: OpenDraft;
  onChoose(version: DraftVersion): void;
}

/** The list of versions, which is read when it is opened. */
export function VersionsPanel({ draft, onChoose }: VersionsPanelProps) {
  const panel = useRef<HTMLDetailsElement>(null);
  const [versions, setVersions] = useState<readonly DraftVersion[]>([]);
  const load = async () => {
    const found = await draftVersions.list(draft.account, draft.key).catch(() => []);
    setVersions(found.filter(({ content }) => content !== draft.text.value));
  };
  const choose = (version: DraftVersion) => {
    if (panel.current) panel.current.open = false;
    onChoose(version);
  };
  return (
    <details ref={panel} class="versions-panel" onToggle={() => panel.current?.open && void load()}>
      <summary>{WORDS.versions}</summary>
      <div class="writing-body">
        <p>{versions.length > 0 ? WORDS.versionsHere : WORDS.noVersionsYet}</p>
        <ul class="writing-list">
          {versions.map((version) => (
            <li key={version.at}>
              <button type="button" class="quiet" onClick={() => choose(version)}>
                {WORDS.versionOf(moment(version.at), WORDS.wordCount(countWords(version.content)))}
              </button>
            </li>
          ))}
        </ul>
      </div>
    </details>
  );
}

interface VersionViewProps {
  readonly text: string;
  readonly version: DraftVersion;
  onTake(): void;
  onClose(): void;
}

/** A version beside the text. */
export function VersionView({ text, version, onTake, onClose }: VersionViewProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  return (
    <section class="conflict" aria-labelledby="version-heading">
      <h2 id="version-heading" tabIndex={-1} ref={heading}>
        {WORDS.versionFrom(moment(version.at))}
      </h2>
      <div class="conflict-choices">
        <button type="button" class="primary" onClick={onTake}>
          {WORDS.bringBack}
        </button>
        <button type="button" onClick={onClose}>
          {WORDS.backText}
        </button>
      </div>
      <Differences
        label={WORDS.bothVersions}
        left={text}
        right={version.content}
        leftName={WORDS.now}
        rightName={moment(version.at)}
      />
    </section>
  );
}
