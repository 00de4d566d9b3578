/** Unique names: 128 random bits in hexadecimal digits. */

/** Made without `crypto.randomUUID`, which browsers offer over https only. */
export function randomName(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
