/** The sentences of the profile, loaded on demand. A translation is another such object. */

export const WORDS = {
  // studio/profile/index.tsx
  opening: "Opening your profile…",
  purpose: "Your name and picture appear with everything you publish.",
  nameLabel: "Name",
  bioLabel: "About you",
  linksLabel: "Links",
  linksHint: "Your website or email address, one per line, five at most.",
  saving: "Waiting for your wallet…",
  save: "Save profile",
  saved: "Saved. Readers see it now.",
  previewHeading: "What readers see",
  unnamed: "Your name",

  // studio/profile/avatar-field.tsx
  removePicture: "Remove",

  // studio/profile/profile-form.ts
  nameMissing: "Enter the name that readers should see.",
  nameTooLong: (most: number) => `A name can have at most ${most} characters.`,
  nameLikeAddress: "A name can’t look like an address (0x…) or an ENS name (….eth).",
  bioTooLong: (most: number) => `This is longer than ${most} characters.`,
  tooManyLinks: (most: number) => `Enter at most ${most} links.`,
  wrongLink: (link: string) => `“${link}” isn’t a web or email address.`,
} as const;
