/** The fields of the form: texts that are counted in bytes, hashtags, and the price. */

import { POST_LIMITS } from "imprint-press";
import { useState } from "preact/hooks";
import { COIN, coin } from "../../page/format.ts";
import { WORDS } from "../words.ts";
import { type Measure, priceProblem } from "./limits.ts";
import { addTags, type TagLimits } from "./tags.ts";

interface TextProps {
  id: string;
  label: string;
  value: string;
  measure: Measure;
  isLong?: boolean;
  onChange(value: string): void;
}

/** A text field with its byte count, which warns when there are too many. */
export function TextField({ id, label, value, measure, isLong, onChange }: TextProps) {
  const { used, limit, problem } = measure;
  const shared = {
    id,
    value,
    "aria-describedby": `${id}-count ${id}-problem`,
    "aria-invalid": used > limit,
    onInput: (event: { currentTarget: { value: string } }) => onChange(event.currentTarget.value),
  };
  return (
    <div class="publish-field">
      <div class="publish-label">
        <label for={id}>{label}</label>
        <span id={`${id}-count`} class="publish-count" data-over={used > limit ? "" : undefined}>
          {WORDS.ofBytes(used, limit)}
        </span>
      </div>
      {isLong ? <textarea {...shared} rows={4} /> : <input {...shared} type="text" />}
      <p id={`${id}-problem`} class="publish-problem" aria-live="polite">
        {used > limit || (problem && used > 0) ? problem : ""}
      </p>
    </div>
  );
}

interface TagsProps {
  tags: readonly string[];
  /** Typed text that is not a hashtag yet. */
  text: string;
  limits: TagLimits;
  onChange(tags: readonly string[], text: string): void;
}

/** Hashtags as chips; Enter, a comma or a space adds the typed text. */
export function TagsField({ tags, text, limits, onChange }: TagsProps) {
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
            if (/[\s,]$/u.test(value)) add(value);
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
      <p id="publish-tags-problem" class="publish-problem" aria-live="polite">
        {problem}
      </p>
    </div>
  );
}

interface PriceProps {
  id?: string;
  value: string;
  onChange(value: string): void;
}

/** The price in the coin; empty or 0 is free. */
export function PriceField({ id = "publish-price", value, onChange }: PriceProps) {
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
      <p id={`${id}-problem`} class="publish-problem" aria-live="polite">
        {problem}
      </p>
    </div>
  );
}
