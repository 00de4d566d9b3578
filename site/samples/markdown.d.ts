/** Markdown texts, which the build puts into scripts. */
declare module "*.md" {
  const text: string;
  export default text;
}
