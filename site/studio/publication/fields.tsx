/** The fields of the form: texts that are counted, hashtags, and the price. */

import { POST_LIMITS } from "imprint-press";
import { useState } from "preact/hooks";
import { COIN, coin } from "../../page/format.ts";
import { WORDS } from "../words.ts";
import { type Measure, priceProblem } from "./limits.ts";
import { addTags, SEPARATOR, type TagLimits } from "./tags.ts";

interface TextProps {
  id: string;
  label: string;
  value: string;
  measure: Measure;
  isLong?: boolean;
  /** Publication was refused because of this field. */
  isRefused: boolean;
  onChange(value: string): void;
}

/** A text field with its characters counted, which warns when there are too many. */
export function TextField(props: TextProps) {
  const { id, label, value, measure, isLong, isRefused, onChange } = props;
  const { used, limit, isOver, problem } = measure;
  const shared = {
    id,
    value,
    "aria-describedby": `${id}-count ${id}-problem`,
    "aria-invalid": isOver || isRefused,
    onInput: (event: { currentTarget: { value: string } }) => onChange(event.currentTarget.value),
  };
  return (
    <div class="publish-field">
      <div class="publish-label">
        <label for={id}>{label}</label>
        <span id={`${id}-count`} class="publish-count" data-over={isOver ? "" : undefined}>
          {WORDS.ofCharacters(used, limit)}
        </span>
      </div>
      {isLong ? <textarea {...shared} rows={4} /> : <input {...shared} type="text" />}
      <Problem id={id} isRefused={isRefused}>
        {used > 0 || isRefused ? problem : null}
      </Problem>
    </div>
  );
}

interface ProblemProps {
  id: string;
  isRefused: boolean;
  children: string | null;
}

/** The problem with a field, announced at once if publication is refused because of it. */
const Problem = ({ id, isRefused, children }: ProblemProps) => (
  <p
    id={`${id}-problem`}
    class="publish-problem"
    {...(isRefused ? { role: "alert" } : { "aria-live": "polite" })}
  >
    {children}
  </p>
);

interface TagsProps {
  tags: readonly string[];
  /** Typed text that is not a hashtag yet. */
  text: string;
  limits: TagLimits;
  isRefused: boolean;
  onChange(tags: readonly string[], text: string): void;
}

/** Hashtags as chips; Enter, a comma or a space adds the typed text. */
export function TagsField({ tags, text, limits, isRefused, onChange }: TagsProps) {
  const [problem, setProblem] = useState<string | null>(null);
  const add = (typed: string) => {
    const added = addTags(tags, typed, limits);
    setProblem(added.problem);
    if (added.tags !== tags || added.rest !== text) onChange(added.tags, added.rest);
  };
  return (
    <div class="publish-field">
      <div class="publish-label">
        <label for="publish-tags">{WORDS.hashtags}</label>
        <span class="publish-count">{WORDS.countOf(tags.length, limits.count)}</span>
      </div>
      <div class="publish-tags">
        {tags.map((tag) => (
          <button
            type="button"
            class="publish-tag"
            key={tag}
            aria-label={WORDS.remove(tag)}
            onClick={() =>
              onChange(
                tags.filter((each) => each !== tag),
                text,
              )
            }
          >
            #{tag} <span aria-hidden="true">×</span>
          </button>
        ))}
        <input
          id="publish-tags"
          type="text"
          value={text}
          autocomplete="off"
          aria-describedby="publish-tags-problem"
          onInput={(event) => {
            const { value } = event.currentTarget;
            if (SEPARATOR.test(value)) add(value);
            else onChange(tags, value);
          }}
          onKeyDown={(event) => {
            if (event.key === "Enter") {
              event.preventDefault();
              add(text);
            } else if (event.key === "Backspace" && text === "") onChange(tags.slice(0, -1), "");
          }}
          onBlur={() => add(text)}
        />
      </div>
      <Problem id="publish-tags" isRefused={isRefused}>
        {isRefused ? addTags(tags, text, limits).problem : problem}
      </Problem>
    </div>
  );
}

interface PriceProps {
  id?: string;
  value: string;
  isRefused?: boolean;
  onChange(value: string): void;
}

/** The price in the coin; empty or 0 means free. */
export function PriceField(props: PriceProps) {
  const { id = "publish-price", value, isRefused = false, onChange } = props;
  const problem = priceProblem(value);
  return (
    <div class="publish-field">
      <label for={id}>{WORDS.priceIn(COIN)}</label>
      <input
        id={id}
        type="text"
        inputMode="decimal"
        placeholder="0"
        autocomplete="off"
        value={value}
        aria-invalid={problem !== null}
        aria-describedby={`${id}-problem ${id}-hint`}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
      <p id={`${id}-hint`} class="publish-hint">
        {WORDS.priceHint(coin(POST_LIMITS.priceWei))}
      </p>
      <Problem id={id} isRefused={isRefused}>
        {problem}
      </Problem>
    </div>
  );
}
