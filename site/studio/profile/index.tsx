/** The profile: the author's name, picture, bio and links, and how readers see them. */

import type { Profile } from "imprint-press";
import { useEffect, useReducer, useRef, useState } from "preact/hooks";
import { short } from "../../page/format.ts";
import { imprint } from "../../page/service.ts";
import { type Account, account, explain } from "../../wallet/index.ts";
import { keepName } from "../../wallet/profile-name.ts";
import { LoadedAuthor } from "../loaded-author.tsx";
import { type Crop, fullCrop, SQUARE } from "../publication/thumbnail/crop.ts";
import { drawCrop, renderSquare } from "../publication/thumbnail/thumbnails.ts";
import { Welcome } from "../sign-in.tsx";
import { useUnsaved } from "../unsaved.ts";
import { WORDS as STUDIO_WORDS } from "../words.ts";
import { AvatarField } from "./avatar-field.tsx";
import {
  advanceForm,
  BIO_LENGTH,
  bioProblem,
  isChanged,
  isTyped,
  linksProblem,
  NAME_LENGTH,
  nameProblem,
  openForm,
  type ProfileForm,
  parseLinks,
  problemOf,
} from "./profile-form.ts";
import { WORDS } from "./words.ts";

/** The side of the picture in pixels. */
const SIDE = 512;

interface Chosen {
  readonly source: Blob;
  readonly picture: ImageBitmap;
  readonly crop: Crop;
}

export function ProfileView() {
  // What is typed stays while the wallet is locked.
  const last = useRef(account.value);
  last.current = account.value ?? last.current;
  const by = last.current;
  if (!by) return <Welcome />;
  return (
    <LoadedAuthor key={by.address} by={by} waiting={WORDS.opening}>
      {(author) => <Editor by={by} saved={author?.profile ?? null} />}
    </LoadedAuthor>
  );
}

function Editor({ by, saved }: { by: Account; saved: Profile | null }) {
  const [form, send] = useReducer(advanceForm, saved, openForm);
  const [chosen, setChosen] = useState<Chosen | null>(null);
  const [isChecked, setChecked] = useState(false);
  const isSaving = form.state === "saving";
  useUnsaved(isTyped(form));
  const save = async (event: Event) => {
    event.preventDefault();
    setChecked(true);
    const problem = problemOf(form);
    if (problem) return document.getElementById(problem.field)?.focus();
    if (isSaving || !isChanged(form)) return;
    send({ type: "save" });
    try {
      const avatar = chosen ? await renderChosen(chosen) : form.avatar === "none" ? "none" : "keep";
      const links = parseLinks(form.links);
      const change = { name: form.name.trim(), bio: form.bio, links, avatar } as const;
      const profile = await imprint.updateProfile(by.wallet, change);
      keepName(by.address, profile.name);
      setChosen(null);
      send({ type: "saved", profile });
    } catch (error) {
      send({ type: "failed", sentence: explain(error).sentence });
    }
  };
  const hasPicture = form.avatar === "new" || (form.avatar === "keep" && !!form.saved?.avatarCid);
  const told = (problem: string | null) => (isChecked ? problem : null);
  return (
    <form class="profile" onSubmit={(event) => void save(event)} noValidate>
      <div class="profile-fields">
        <h1>{STUDIO_WORDS.profile}</h1>
        <p>{WORDS.purpose}</p>
        <Field
          id="profile-name"
          label={WORDS.nameLabel}
          used={form.name.trim()}
          limit={NAME_LENGTH}
          problem={told(nameProblem(form.name))}
        >
          <input
            id="profile-name"
            type="text"
            autocomplete="name"
            value={form.name}
            aria-invalid={told(nameProblem(form.name)) !== null}
            aria-describedby="profile-name-problem"
            onInput={({ currentTarget }) =>
              send({ type: "typed", field: "name", text: currentTarget.value })
            }
          />
        </Field>
        <AvatarField
          picture={chosen?.picture ?? null}
          crop={chosen?.crop ?? null}
          isRemovable={hasPicture}
          onPicture={(source, picture) => {
            setChosen({ source, picture, crop: fullCrop(picture, SQUARE) });
            send({ type: "avatar", avatar: "new" });
          }}
          onCrop={(crop) => setChosen(chosen && { ...chosen, crop })}
          onRemove={() => {
            setChosen(null);
            send({ type: "avatar", avatar: "none" });
          }}
        />
        <Field
          id="profile-bio"
          label={WORDS.bioLabel}
          used={form.bio}
          limit={BIO_LENGTH}
          problem={bioProblem(form.bio)}
        >
          <textarea
            id="profile-bio"
            rows={4}
            value={form.bio}
            aria-invalid={bioProblem(form.bio) !== null}
            aria-describedby="profile-bio-problem"
            onInput={({ currentTarget }) =>
              send({ type: "typed", field: "bio", text: currentTarget.value })
            }
          />
        </Field>
        <Field
          id="profile-links"
          label={WORDS.linksLabel}
          hint={WORDS.linksHint}
          problem={told(linksProblem(form.links))}
        >
          <textarea
            id="profile-links"
            rows={3}
            value={form.links}
            spellcheck={false}
            aria-invalid={told(linksProblem(form.links)) !== null}
            aria-describedby="profile-links-hint profile-links-problem"
            onInput={({ currentTarget }) =>
              send({ type: "typed", field: "links", text: currentTarget.value })
            }
          />
        </Field>
        <div class="profile-actions">
          <button type="submit" class="primary" disabled={isSaving || !isChanged(form)}>
            {isSaving ? WORDS.saving : WORDS.save}
          </button>
          <p role="status">{form.state === "saved" && WORDS.saved}</p>
        </div>
        {form.failure && (
          <p class="publish-problem" role="alert">
            {form.failure}
          </p>
        )}
      </div>
      <Preview by={by} form={form} chosen={chosen} />
    </form>
  );
}

const renderChosen = ({ source, picture, crop }: Chosen): Promise<Blob> =>
  renderSquare(picture, crop, SIDE, imprint.facts.limits.thumbnail_bytes, source.type);

interface FieldProps {
  id: string;
  label: string;
  used?: string;
  limit?: number;
  hint?: string;
  problem: string | null;
  children: preact.ComponentChildren;
}

function Field({ id, label, used, limit, hint, problem, children }: FieldProps) {
  const length = used === undefined ? 0 : [...used.normalize("NFC")].length;
  return (
    <div class="publish-field">
      <div class="publish-label">
        <label for={id}>{label}</label>
        {limit !== undefined && (
          <span class="publish-count" data-over={length > limit ? "" : undefined}>
            {STUDIO_WORDS.countOf(length, limit)}
          </span>
        )}
      </div>
      {children}
      {hint && (
        <p id={`${id}-hint`} class="publish-hint">
          {hint}
        </p>
      )}
      <p id={`${id}-problem`} class="publish-problem" aria-live="polite">
        {problem}
      </p>
    </div>
  );
}

interface PreviewProps {
  by: Account;
  form: ProfileForm;
  chosen: Chosen | null;
}

/** The head of the author's page. */
function Preview({ by, form, chosen }: PreviewProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const kept = form.avatar === "keep" ? form.saved?.avatarCid : null;
  useEffect(() => {
    if (canvas.current && chosen) drawCrop(canvas.current, chosen.picture, chosen.crop);
  });
  const links = linksProblem(form.links) === null ? parseLinks(form.links) : [];
  return (
    <aside class="profile-preview" aria-label={STUDIO_WORDS.preview}>
      <p class="publish-hint">{WORDS.previewHeading}</p>
      {chosen ? (
        <canvas ref={canvas} class="avatar" width={192} height={192} />
      ) : (
        kept && <img class="avatar" src={`/ipfs/${kept}?img-width=192`} alt="" />
      )}
      <p class="profile-name">
        <bdi>{form.name.trim() || WORDS.unnamed}</bdi>{" "}
        <span class="author-address">{short(by.address.toLowerCase())}</span>
      </p>
      {form.bio.trim() && <p class="bio">{form.bio}</p>}
      {links.length > 0 && (
        <ul class="author-links">
          {links.map((link) => (
            <li key={link}>{link.replace(/^(https:\/\/|mailto:)/i, "").replace(/\/$/, "")}</li>
          ))}
        </ul>
      )}
    </aside>
  );
}
