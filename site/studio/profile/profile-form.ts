/** The form of a profile: the author's input, and the state of its saving. */

import type { Profile } from "imprint-press";
import { WORDS } from "./words.ts";

export const NAME_LENGTH = 64;
export const BIO_LENGTH = 500;
const MOST_LINKS = 5;
const LINK_LENGTH = 300;

export interface ProfileForm {
  readonly name: string;
  readonly bio: string;
  /** One link per line. */
  readonly links: string;
  readonly avatar: "keep" | "none" | "new";
  /** What readers see now; null if there is no profile yet. */
  readonly saved: Profile | null;
  readonly state: "editing" | "saving" | "saved";
  /** Why the profile could not be saved. */
  readonly failure: string | null;
}

export type ProfileEvent =
  | { readonly type: "typed"; readonly field: "name" | "bio" | "links"; readonly text: string }
  | { readonly type: "avatar"; readonly avatar: ProfileForm["avatar"] }
  | { readonly type: "save" }
  | { readonly type: "saved"; readonly profile: Profile }
  | { readonly type: "failed"; readonly sentence: string };

export const openForm = (saved: Profile | null): ProfileForm => ({
  name: saved?.name ?? "",
  bio: saved?.bio ?? "",
  links: saved?.links.join("\n") ?? "",
  avatar: "keep",
  saved,
  state: "editing",
  failure: null,
});

/** The form after an event. Input is ignored while the profile is being saved. */
export function advanceForm(form: ProfileForm, event: ProfileEvent): ProfileForm {
  switch (event.type) {
    case "typed": {
      if (form.state === "saving") return form;
      const text = cleanText(event.text, event.field !== "name");
      return { ...form, [event.field]: text, state: "editing", failure: null };
    }
    case "avatar":
      if (form.state === "saving") return form;
      return { ...form, avatar: event.avatar, state: "editing", failure: null };
    case "save":
      return { ...form, state: "saving", failure: null };
    case "saved":
      return { ...openForm(event.profile), state: "saved" };
    case "failed":
      return { ...form, state: "editing", failure: event.sentence };
  }
}

const INVISIBLE = /(?![\u200C\u200D])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{DI}\u2800]/gu;

/** Remove invisible characters, which pasted texts contain and the service refuses. */
export function cleanText(text: string, hasLines: boolean): string {
  const lines = text.replace(/\r\n?|[\u2028\u2029]/g, "\n").replace(/\t/g, " ");
  const kept = hasLines ? lines : lines.replace(/\n/g, " ");
  return kept
    .split("\n")
    .map((line) => line.replace(INVISIBLE, "").replace(/(?![\u00A0\u3000])\p{Zs}/gu, " "))
    .join("\n");
}

const lengthOf = (text: string): number => [...text.normalize("NFC")].length;

export function nameProblem(name: string): string | null {
  const length = lengthOf(name.trim());
  if (length === 0) return WORDS.nameMissing;
  if (length > NAME_LENGTH) return WORDS.nameTooLong(NAME_LENGTH);
  const plain = name.normalize("NFKC").toLowerCase();
  if (/(?<![\p{L}\p{N}])0x|\.eth(?![\p{L}\p{N}])/u.test(plain)) {
    return WORDS.nameLikeAddress;
  }
  return null;
}

export const bioProblem = (bio: string): string | null =>
  lengthOf(bio) > BIO_LENGTH ? WORDS.bioTooLong(BIO_LENGTH) : null;

/** The links of a text; a missing scheme is added. */
export function parseLinks(text: string): string[] {
  const lines = text.split("\n").map((line) => line.trim());
  return lines.filter(Boolean).map((line) => {
    if (/^[a-z][a-z0-9+.-]*:/i.test(line)) return line;
    return /^[^/@\s]+@[^/@\s]+$/.test(line) ? `mailto:${line}` : `https://${line}`;
  });
}

export function linksProblem(text: string): string | null {
  const links = parseLinks(text);
  if (links.length > MOST_LINKS) return WORDS.tooManyLinks(MOST_LINKS);
  const wrong = links.find((link) => !isLink(link));
  return wrong === undefined ? null : WORDS.wrongLink(wrong);
}

function isLink(link: string): boolean {
  if (link.length > LINK_LENGTH || /[\s"<>\\^`{|}]/.test(link)) return false;
  if (/^mailto:[^@]+@[^@]+$/i.test(link)) return true;
  if (!/^https:\/\//i.test(link)) return false;
  try {
    const { hostname, username, password } = new URL(link);
    return hostname !== "" && username === "" && password === "";
  } catch {
    return false;
  }
}

/** The first field that prevents saving, and why; null if there is none. */
export function problemOf(form: ProfileForm): { field: string; sentence: string } | null {
  const found = [
    { field: "profile-name", sentence: nameProblem(form.name) },
    { field: "profile-bio", sentence: bioProblem(form.bio) },
    { field: "profile-links", sentence: linksProblem(form.links) },
  ].find(({ sentence }) => sentence !== null);
  return found?.sentence ? { field: found.field, sentence: found.sentence } : null;
}

/** Whether something is entered that is not saved. */
export const isTyped = (form: ProfileForm): boolean =>
  isChanged(form) &&
  (form.saved !== null || form.avatar === "new" || `${form.name}${form.bio}${form.links}` !== "");

/** Whether saving would change anything. */
export function isChanged({ name, bio, links, avatar, saved }: ProfileForm): boolean {
  if (!saved || avatar === "new") return true;
  if (avatar === "none" && saved.avatarCid !== null) return true;
  const same = name.trim() === saved.name && bio === saved.bio;
  return !same || parseLinks(links).join("\n") !== saved.links.join("\n");
}
