/** Values that work on this service: from its newest posts, the account, and earlier responses. */

import type { Operation, Parameter } from "./request.ts";

/** The known values; any may be missing, as on a service without posts. */
export interface Known {
  postId?: string;
  freePostId?: string;
  author?: string;
  tag?: string;
  thumbnailCid?: string;
  /** The address of the current account. */
  address?: string;
  /** The newest draft of the account. */
  draftCid?: string;
  writingSession?: string;
  feed?: string;
  feedToken?: string;
  pageToken?: string;
  asset?: string;
}

/** Parameters that concern a post, a tag or a file, whatever the operation. */
const BY_NAME: Record<string, (known: Known, operation: Operation) => string | undefined> = {
  postId: postOf,
  user: ({ address }) => address,
  owner: ({ address }) => address,
  userAddress: ({ address, author }) => address ?? author,
  address: ({ author, address }) => author ?? address,
  tag: ({ tag }) => tag,
  tags: ({ tag }) => tag,
  token: ({ feedToken }) => feedToken,
  next_page_token: ({ pageToken }) => pageToken,
  name: ({ asset }) => asset,
  cid: (known, { path }) => (path === "/ipfs/{cid}" ? known.thumbnailCid : known.draftCid),
  id: (known, operation) =>
    operation.path.startsWith("/writing/")
      ? known.writingSession
      : operation.path.startsWith("/me/feeds/")
        ? known.feed
        : postOf(known, operation),
};

/** Operations that need a post that everybody may read. */
const FREE = ["readFreePost", "getPostMarkdown", "readPostContent"];

function postOf(known: Known, { name }: Operation): string | undefined {
  return FREE.includes(name) ? (known.freePostId ?? known.postId) : known.postId;
}

/** The initial value of a form field: one that works here, or the example. */
export function suggest(operation: Operation, parameter: Parameter, known: Known): string {
  if (!parameter.required) return "";
  return BY_NAME[parameter.name]?.(known, operation) ?? parameter.example;
}

interface Response {
  next_page_token?: string | null;
  updatedUpload?: { cid: string };
  upload?: { cid: string };
  session?: { id: string };
  sessions?: { id: string }[];
  files?: { cid: string }[];
  feeds?: { id: string }[];
  id?: string;
  atom?: string;
}

/** The values in a successful response, which the forms of other operations suggest next. */
export function learn(operation: string, text: string): Known {
  const said = parse(text);
  const learnt: Known = {};
  const keep = <Name extends keyof Known>(name: Name, value: string | null | undefined): void => {
    if (value) learnt[name] = value;
  };
  keep("pageToken", said.next_page_token);
  keep("draftCid", (said.updatedUpload ?? said.upload)?.cid);
  if (operation === "listDrafts") keep("draftCid", said.files?.[0]?.cid);
  keep("writingSession", said.session?.id ?? said.sessions?.[0]?.id);
  if (/PrivateFeed/.test(operation)) {
    keep("feed", said.id ?? said.feeds?.[0]?.id);
    keep("feedToken", /\/private\/([^/.]+)\.atom/.exec(said.atom ?? "")?.[1]);
  }
  return learnt;
}

function parse(text: string): Response {
  try {
    return (JSON.parse(text) ?? {}) as Response;
  } catch {
    return {};
  }
}
