/** The types of requests and responses, with the names of the contract. */

export type Address = `0x${string}`;
export type Hex = `0x${string}`;

/** The forms of signed writes; `imprint-2` is bound to the service and to the content. */
export type Form = "imprint-1" | "inkdao-1" | "imprint-2";
export type Action = "create" | "update" | "publish" | "delete";
export type WritingAction = "create" | "update";

/** The author's input for publishing a draft; `thumbnail` is PNG, JPEG or WebP. */
export interface Publication {
  thumbnail: Blob;
  thumbnailName?: string;
  hashtags: string[];
}

/** The bytes of `/ipfs/{cid}` and their media type. */
export interface FetchedDocument {
  bytes: Uint8Array<ArrayBuffer>;
  mediaType: string;
}

export interface PostQuery {
  /** Posts with all of these hashtags. */
  tag?: string | string[];
  author?: string;
  free?: boolean;
  minPrice?: string | bigint;
  maxPrice?: string | bigint;
  /** Words to search for in titles, descriptions and free texts. */
  q?: string;
  sort?: "newest" | "oldest" | "sales" | "price";
  /** Also posts that the service does not show. */
  hosted?: "any";
  /** Posts per page, 1 to 50. */
  limit?: number;
}

/** A report of a post. */
export interface Report {
  postId: string;
  reason: "illegal" | "copyright" | "abuse" | "spam" | "other";
  /** At most 2000 characters. */
  text: string;
  contact?: string;
}

// The rest is generated from the OpenAPI description by `make fix`.

// records: begin

/** Parameters of this service that a client must know. */
export interface ServiceFacts {
  /** The name of the software. */
  name: string;
  /** The version of the interface. */
  version: string;
  /** The public URL of the service, without a slash at its end. */
  service: string;
  signing: SigningFacts;
  /** The forms of signed writes that are accepted; later versions add some. */
  signing_forms: string[];
  /** What the service offers beyond drafts and their publication; `posts`, `feeds` and `search` only where it follows the chain. */
  features: string[];
  login: LoginFacts;
  chain: ChainFacts;
  limits: LimitFacts;
  page_sizes: PageSizes;
  /** The `name` of the domain of the form `inkdao-1`, if it is another one. */
  inkdao_domain?: string;
  /** The time of the service in Unix seconds, at most 5 seconds old. */
  now: number;
}

/** The EIP-712 domain of typed data. Spread it into the `domain` of `salt`. */
export interface SigningFacts {
  /** The name of the domain. */
  name: string;
  /** The version of the domain. */
  version: string;
  /** The id of the chain. */
  chainId: number;
}

/** The rules that login messages (EIP-4361) are checked against. */
export interface LoginFacts {
  /** The domains that messages may name; `:*` is any port. */
  domains: string[];
  /** How old a message may be. */
  freshness_seconds: number;
}

/** The chain and the contract on which posts are published. */
export interface ChainFacts {
  /** The id of the chain. */
  id: number;
  /** The contract, in lower case. */
  marketplace: Address;
  /** The name of the chain. */
  name: string;
  coin: CoinFacts;
  /** A node that everybody may use, if the operator publishes one. */
  rpc_url?: string;
  /** A block explorer, if the operator names one; it has paths like `/tx/…`. */
  explorer_url?: string;
  /** The purchase adapter of the marketplace, if there is one; posts are bought for somebody else, or several at once, through it. */
  adapter?: Address;
}

/** The coin of the chain, in which prices are paid. */
export interface CoinFacts {
  /** Its symbol, such as ETH. */
  symbol: string;
  /** Its decimals: a price of 1 is the smallest amount. */
  decimals: number;
}

/** The limits on what the service accepts. */
export interface LimitFacts {
  /** Bytes of UTF-8 of a content. */
  content_bytes: number;
  /** Bytes of all drafts of a signer; 0 is no limit. */
  quota_bytes: number;
  /** Drafts of a signer; 0 is no limit. */
  quota_drafts: number;
  /** Bytes of a thumbnail. */
  thumbnail_bytes: number;
  /** Pixels of a thumbnail. */
  thumbnail_pixels: number;
  /** Pixels of a side of a thumbnail. */
  thumbnail_side: number;
  /** Hashtags of a file. */
  hashtags: number;
  /** Characters of a hashtag. */
  hashtag_length: number;
  /** Characters of a nonce. */
  nonce_length: number;
  /** Bytes of a login message. */
  login_message_bytes: number;
}

/** The number of records per page. */
export interface PageSizes {
  /** Of `GET /filesByTags`. */
  filesByTags: number;
  /** Of `GET /filesMetaData`. */
  filesMetaData: number;
  /** Of `GET /filesByNextPageToken`. */
  filesByNextPageToken: number;
  /** Of `GET /pendingFilesByOwner`. */
  pendingFilesByOwner: number;
}

/** The marketplace contract, for libraries that call it directly. */
export interface MarketplaceFacts {
  /** The id of the chain. */
  chainId: number;
  /** The contract, in lower case. */
  address: Address;
  /** The block that it was deployed in; nothing of it is earlier. */
  startBlock: number;
  /** Its interface, as compilers write it and client libraries take it. */
  abi: Record<string, unknown>[];
}

/** The state of the service and its dependencies. */
export interface Readiness {
  /** The state in one word. */
  status: "ready" | "degraded" | "not ready";
  checks: Checks;
  /** A sentence for everything that is not well. */
  details: string[];
}

/** A one-word status for each dependency and task. */
export interface Checks {
  /** `ok`, `read_only`, `unavailable` or `unknown`. */
  database: string;
  /** `ok`, `read_only`, `unavailable` or `unknown`. */
  storage: string;
  /** `ok`, `unavailable`, `disagrees` or `unknown`. */
  chain: string;
  /** `ok`, `low` or `unknown`. */
  disk: string;
  /** `ok`, `off`, `stopped` or `unknown`. */
  follower: string;
  /** `ok`, `off`, `stopped` or `unknown`. */
  indexer: string;
  /** `ok`, `off`, `stopped` or `unknown`. */
  collector: string;
  /** `ok`, `damaged` or `unknown`. */
  records: string;
}

/** The body of every error response (RFC 9457). Only a problem with the code `nonce_used` has an `action` (`create`, `update`, `publish`, `delete`, `profile`, `revise`, `writing_session`, `login` or `read`) and a `file`: the action that spent the nonce, and the record that it produced, or `null`. If the action is not that of the request, the request did not produce the file. */
export interface Problem {
  /** A URI that identifies the code. */
  type: string;
  /** The reason phrase of the status. */
  title: string;
  /** The status of the response. */
  status: number;
  /** What is wrong, for people. */
  detail: string;
  /** What is wrong, for programs. A code never changes its meaning, and a later version may add codes. */
  code: Code;
  /** The same sentence as `detail`. */
  error: string;
  /** With `nonce_used`: the action that spent the nonce. */
  action?: string;
  file?: Draft | null;
  /** With `signature_stale`: the time of the service in Unix seconds. */
  now?: number;
  /** With `withheld` and `removed`: what the operator says about it. */
  statement?: string;
  /** With `withheld` and `removed`: since when, ISO 8601 in UTC. */
  since?: string;
}

/** A file as returned by writes. Every update changes its CID. */
export interface Draft {
  /** A UUID. */
  id: string;
  /** The owner's address and a rising number. */
  name: string;
  /** A content identifier: CIDv1 in base32, raw or dag-pb, SHA-256. */
  cid: string;
  /** Bytes of the stored document. */
  size: number;
  /** When this version was stored. */
  created_at: string;
  /** A UUID. */
  group_id: string;
  keyvalues: KeyValues;
}

/** The metadata of a file. Each hashtag is an additional member whose value is its name. */
export type KeyValues = {
  /** An Ethereum address in lower case. */
  owner: Address;
  /** A draft, or a post. */
  status: "pending" | "onchain";
  /** When the post was published; a draft has none. */
  publishedAt?: string;
} & { [name: string]: string };

/** A reader's session. `token` is a secret. */
export interface Session {
  /** The session, a JWT for the Authorization header. */
  token: string;
  /** An Ethereum address in lower case. */
  address: Address;
  /** How long the session is valid: `2h`, or less in hours, minutes or seconds. */
  expiresIn: string;
  /** When the session ends. */
  expiresAt: string;
}

/** A writing session. Its key is not included. */
export interface WritingSessionRecord {
  /** The `id` of a writing session. */
  id: string;
  /** The wallet that its key signs for. */
  wallet: Address;
  /** What its key may sign. */
  actions: ("create" | "update")[];
  /** When it begins. */
  notBefore: string;
  /** When it ends, unless it is revoked before. */
  expires: string;
  /** When it was opened. */
  createdAt: string;
}

/** A file as returned by lists and reads, with its publication. */
export interface HostedFile {
  /** A UUID. */
  id: string;
  /** The owner's address and a rising number. */
  name: string;
  /** A content identifier: CIDv1 in base32, raw or dag-pb, SHA-256. */
  cid: string;
  /** Bytes of the stored document. */
  size: number;
  /** When this version was stored. */
  created_at: string;
  /** A UUID. */
  group_id: string;
  keyvalues: KeyValues;
  /** Normalized hashtags. */
  hashtags: string[];
  /** A content identifier: CIDv1 in base32, raw or dag-pb, SHA-256. */
  thumbnail_cid: string | null;
  /** The post's id, a decimal number below 2^256. */
  post_id: string | null;
  /** When the post was published. */
  published_at: string | null;
  /** The transaction that published the file. */
  tx_hash: Hex | null;
}

/** A text and the file that contains it. */
export interface Content {
  /** The text. */
  content: string;
  file: HostedFile;
}

/** A version of a post's text, and the record of the document on the chain. */
export interface PostContent {
  /** The text. */
  content: string;
  file: HostedFile;
  /** The number of the revision; 0 is the document on the chain. */
  revision: number;
  proof?: RevisionProof;
}

/** The data of a revision that its author signed, including a hash of the text. */
export interface RevisionProof {
  /** An Ethereum address in lower case. */
  address: Address;
  /** The typed data of the type `RevisePost` (EIP-712). */
  salt: Record<string, unknown>;
  /** Bytes in hex. Of an account with a key: 65 bytes (r, s, v), or the 64 of EIP-2098, with a low s. Of a contract wallet: whatever its contract accepts (ERC-1271), or what ERC-6492 makes of it; at most 16384 bytes. */
  signature: string;
}

/** The thumbnail of a draft that is ready for `createPost`. */
export interface PublishedDraft {
  /** A content identifier: CIDv1 in base32, raw or dag-pb, SHA-256. */
  thumbnailCid: string;
}

/** A deleted draft. */
export interface DeletedDraft {
  /** A UUID. */
  id: string;
  /** What became of it. */
  status: "deleted";
}

/** A post in the index. */
export interface Post {
  /** The post's id, a decimal number below 2^256. */
  id: string;
  /** An Ethereum address in lower case. */
  author: Address;
  /** The cid of the document, in its canonical spelling if it is one. */
  cid: string;
  /** The cid of the thumbnail, as the chain has it. */
  thumbnailCid: string;
  /** The title, as the author wrote it: any characters. */
  title: string;
  /** The description, as the author wrote it: any characters. */
  description: string;
  /** The price in wei. */
  price: string;
  /** The price in wei when it was published. */
  firstPrice: string;
  /** Whether the price is zero. */
  free: boolean;
  /** Normalized hashtags. */
  hashtags: string[];
  /** Whether its document is here. */
  hosted: boolean;
  /** The time of its block. */
  createdAt: string;
  block: Block;
  /** The hash of the transaction. */
  transaction: Hex;
  sales: SalesTotal;
  /** How many addresses hold its token now. */
  holders: number;
  links: PostLinks;
  byline: Byline | null;
  /** How many words the whole text has; null if it is not here, or was published a moment ago. */
  words: number | null;
  /** Whether everybody may read its beginning, at `/posts/{id}/opening`. */
  opening: boolean;
  revision: RevisionSummary | null;
  /** Only in a search: HTML in which everything but `<mark>` around the words is text. */
  snippet?: string;
  /** Only of a single post: its latest 20 prices, the newest first. */
  priceHistory?: PricePoint[];
}

/** A block on the chain. */
export interface Block {
  /** The number of the block. */
  number: number;
  /** The hash of the block. */
  hash: Hex;
}

/** The number of purchases and the total paid. */
export interface SalesTotal {
  /** How many purchases. */
  count: number;
  /** What was paid in all, in wei. */
  volume: string;
}

/** Absolute URLs of a post. */
export interface PostLinks {
  /** The address of this record. */
  self: string;
  /** The address of the content. */
  content: string;
  /** The address of the page for readers. */
  page: string;
}

/** How an author is named next to a post. Names are not unique: only addresses are. */
export interface Byline {
  /** The name in the author's profile: any visible characters. */
  name: string;
  /** The cid of the author's picture, at `/ipfs/{cid}`; null without one. */
  avatarCid: string | null;
}

/** The newest revision of a post. */
export interface RevisionSummary {
  /** Its number, from 1 to 50. */
  number: number;
  /** What the author says about it: one line of at most 280 characters. */
  note: string;
  /** When the author added it. */
  createdAt: string;
}

/** A price of a post and when it was set. */
export interface PricePoint {
  /** The price in wei. */
  price: string;
  /** Since when it had this price: the time of a block. */
  since: string;
}

/** A post in a reader's library. */
export interface HeldPost {
  /** The post's id, a decimal number below 2^256. */
  id: string;
  /** An Ethereum address in lower case. */
  author: Address;
  /** The cid of the document, in its canonical spelling if it is one. */
  cid: string;
  /** The cid of the thumbnail, as the chain has it. */
  thumbnailCid: string;
  /** The title, as the author wrote it: any characters. */
  title: string;
  /** The description, as the author wrote it: any characters. */
  description: string;
  /** The price in wei. */
  price: string;
  /** The price in wei when it was published. */
  firstPrice: string;
  /** Whether the price is zero. */
  free: boolean;
  /** Normalized hashtags. */
  hashtags: string[];
  /** Whether its document is here. */
  hosted: boolean;
  /** The time of its block. */
  createdAt: string;
  block: Block;
  /** The hash of the transaction. */
  transaction: Hex;
  sales: SalesTotal;
  /** How many addresses hold its token now. */
  holders: number;
  links: PostLinks;
  byline: Byline | null;
  /** How many words the whole text has; null if it is not here, or was published a moment ago. */
  words: number | null;
  /** Whether everybody may read its beginning, at `/posts/{id}/opening`. */
  opening: boolean;
  revision: RevisionSummary | null;
  /** Only in a search: HTML in which everything but `<mark>` around the words is text. */
  snippet?: string;
  /** Only of a single post: its latest 20 prices, the newest first. */
  priceHistory?: PricePoint[];
  held: Held;
}

/** A reader's holding of a post. */
export interface Held {
  /** How many tokens. */
  balance: string;
  /** When the first of the tokens held now arrived. */
  boughtAt: string;
  /** What was paid; null if it was not bought. */
  paid: string | null;
}

/** The beginning of a post, which everybody may read. */
export interface Opening {
  /** The Markdown above the line `<!--more-->`. */
  content: string;
  /** How many words it has. */
  words: number;
}

/** Where a final block of the chain records who published which document. Any node of the chain can confirm it. */
export interface PostProof {
  /** `imprint-proof-1`. */
  type: string;
  /** The post's id, a decimal number below 2^256. */
  id: string;
  /** An Ethereum address in lower case. */
  author: Address;
  /** A content identifier: CIDv1 in base32, raw or dag-pb, SHA-256. */
  cid: string;
  /** The time of the block. */
  createdAt: string;
  /** The id of the chain. */
  chainId: number;
  log: ProofLog;
  /** The hash of the transaction. */
  transaction: Hex;
  block: Block;
}

/** The log of the event `PostCreated`, whose topics name the post and its author. */
export interface ProofLog {
  /** The marketplace. */
  address: Address;
  /** The topics: the event, the id of the post and its author. */
  topics: Hex[];
  /** The index of the log in its block. */
  index: number;
}

/** What an author has published and sold, and their profile. */
export interface Author {
  /** An Ethereum address in lower case. */
  address: Address;
  /** How many posts. */
  posts: number;
  sales: SalesTotal;
  /** How many addresses hold one of them now. */
  readers: number;
  /** When the first was published. */
  firstPostAt: string | null;
  /** When the last was published. */
  lastPostAt: string | null;
  profile: Profile | null;
}

/** What an author says about themselves. */
export interface Profile {
  /** An Ethereum address in lower case. */
  address: Address;
  /** 1 to 64 characters. Names are not unique: only addresses are. */
  name: string;
  /** At most 500 characters, with line feeds; may be empty. */
  bio: string;
  /** At most 5 addresses of the author elsewhere. */
  links: string[];
  /** The cid of the picture, at `/ipfs/{cid}`; null without one. */
  avatarCid: string | null;
  /** When the author last changed it. */
  updatedAt: string;
}

/** A corrected version of a post, as the author has just added it. */
export interface RevisionRecord {
  /** Its number, from 1 to 50. */
  number: number;
  /** A content identifier: CIDv1 in base32, raw or dag-pb, SHA-256. */
  cid: string;
  /** What the author says about it: one line of at most 280 characters. */
  note: string;
  /** When the author added it. */
  createdAt: string;
}

/** A corrected version of a post. */
export interface ListedRevision {
  /** Its number, from 1 to 50. */
  number: number;
  /** A content identifier: CIDv1 in base32, raw or dag-pb, SHA-256. */
  cid: string;
  /** What the author says about it: one line of at most 280 characters. */
  note: string;
  /** When the author added it. */
  createdAt: string;
  /** How many words it has; null if that is not known. */
  words: number | null;
}

/** A purchase of one of the author's posts. */
export interface Sale {
  /** The post's id, a decimal number below 2^256. */
  postId: string;
  /** An Ethereum address in lower case. */
  buyer: Address;
  /** What was paid, in wei. */
  price: string;
  /** The time of its block. */
  at: string;
  block: Block;
  /** The hash of the transaction. */
  transaction: Hex;
  /** The title of the post, as the author wrote it: any characters. */
  title?: string;
  /** Who got the post, if the buyer bought it as a gift. */
  receiver?: Address;
}

/** Totals of the whole marketplace, and its most recent days. */
export interface Stats {
  /** How many posts. */
  posts: number;
  /** How many authors. */
  authors: number;
  /** How many addresses hold a post now. */
  readers: number;
  /** How many purchases. */
  sales: number;
  /** What was paid in all, in wei. */
  volume: string;
  /** The last 90 days, the oldest first. */
  days: Day[];
}

/** The activity of one UTC day. */
export interface Day {
  /** The day, in UTC. */
  day: string;
  /** How many posts. */
  posts: number;
  /** How many purchases. */
  sales: number;
  /** What was paid in all, in wei. */
  volume: string;
}

/** The totals of the marketplace. */
export interface GlobalMetrics {
  /** Addresses that published, bought or hold a post. */
  totalUsers: number;
  /** Posts. */
  totalAssets: number;
  /** A sum of amounts in wei. */
  totalAssetWorth: string;
  /** A sum of amounts in wei. */
  totalVolume: string;
}

/** The totals of an address. */
export interface UserMetrics {
  creator: CreatorMetrics;
  holder: HolderMetrics;
}

/** The totals of an address as an author. */
export interface CreatorMetrics {
  /** Posts. */
  totalAssets: number;
  /** A sum of amounts in wei. */
  totalEarnings: string;
  /** Addresses that hold one of the posts. */
  totalSubscribers: number;
  /** A sum of amounts in wei. */
  totalAssetWorth: string;
}

/** The totals of an address as a reader. */
export interface HolderMetrics {
  /** Purchases. */
  totalPurchases: number;
  /** A sum of amounts in wei. */
  totalSpent: string;
}

/** The days of all posts and purchases of an address, in order. */
export interface HeatMap {
  /** Days as `D/M/YYYY`, in UTC, without leading zeros. */
  creator: string[];
  /** Days as `D/M/YYYY`, in UTC, without leading zeros. */
  holder: string[];
}

/** A private feed and its URLs, which are secret and shown only once. */
export interface FeedAccess {
  /** The id of the feed. */
  id: string;
  /** The address of the feed as Atom. */
  atom: string;
  /** The address of the feed as JSON Feed. */
  json: string;
}

/** A measure of the operator on an author, or on one of their posts. */
export interface MeasureRecord {
  /** The post; `null` for the author. */
  postId: string | null;
  /** What. */
  measure: "unlisted" | "withheld" | "refused";
  /** Why. */
  ground: "legal" | "policy";
  /** What the operator says about it; may be empty. */
  statement: string;
  /** Since when. */
  since: string;
}

/** A post of the session's author. The title, description and thumbnail of a withheld post are empty, because nobody may see them. */
export interface OwnPost {
  /** The post's id, a decimal number below 2^256. */
  id: string;
  /** An Ethereum address in lower case. */
  author: Address;
  /** The cid of the document, in its canonical spelling if it is one. */
  cid: string;
  /** The cid of the thumbnail, as the chain has it. */
  thumbnailCid: string;
  /** The title, as the author wrote it: any characters. */
  title: string;
  /** The description, as the author wrote it: any characters. */
  description: string;
  /** The price in wei. */
  price: string;
  /** The price in wei when it was published. */
  firstPrice: string;
  /** Whether the price is zero. */
  free: boolean;
  /** Normalized hashtags. */
  hashtags: string[];
  /** Whether its document is here. */
  hosted: boolean;
  /** The time of its block. */
  createdAt: string;
  block: Block;
  /** The hash of the transaction. */
  transaction: Hex;
  sales: SalesTotal;
  /** How many addresses hold its token now. */
  holders: number;
  links: PostLinks;
  byline: Byline | null;
  /** How many words the whole text has; null if it is not here, or was published a moment ago. */
  words: number | null;
  /** Whether everybody may read its beginning, at `/posts/{id}/opening`. */
  opening: boolean;
  revision: RevisionSummary | null;
  /** Only in a search: HTML in which everything but `<mark>` around the words is text. */
  snippet?: string;
  /** Only of a single post: its latest 20 prices, the newest first. */
  priceHistory?: PricePoint[];
  measure: MeasureRecord | null;
}

/** A private feed, without its URLs. */
export interface PrivateFeed {
  /** The id of the feed. */
  id: string;
  /** When it was made. */
  createdAt: string;
  /** When it was last fetched. */
  fetchedAt: string | null;
}

/** A JSON Feed, version 1.1. */
export interface JsonFeed {
  /** `https://jsonfeed.org/version/1.1`. */
  version: string;
  /** The title of the feed. */
  title: string;
  /** The page with the same posts. */
  home_page_url: string;
  /** The address of the feed, or of this page of it. */
  feed_url: string;
  /** The posts, the newest first. */
  items: FeedItem[];
  /** The address of the next page, on all pages but the last. */
  next_url?: string;
  /** Where to subscribe to changes. */
  hubs?: FeedHub[];
}

/** A post in a feed; it has either `content_html` or `content_text`. */
export interface FeedItem {
  /** An id that never changes. */
  id: string;
  /** The page of the post. */
  url: string;
  /** The title. */
  title: string;
  /** The description. */
  summary: string;
  /** When it was published. */
  date_published: string;
  /** When it was published or its price was changed; in a private feed also when its token arrived. */
  date_modified: string;
  /** Its author. */
  authors: FeedAuthor[];
  /** Its hashtags. */
  tags: string[];
  _imprint: FeedPost;
  /** The text as HTML; a long one ends with a link to its page. */
  content_html?: string;
  /** Without the text, description and price. */
  content_text?: string;
  /** The address of its picture. */
  image?: string;
}

/** An author. */
export interface FeedAuthor {
  /** The name in the author's profile, or the address without one. */
  name: string;
  /** About the author. */
  url: string;
  /** The address of the author's picture. */
  avatar?: string;
}

/** Fields that are not part of the JSON Feed standard. */
export interface FeedPost {
  /** The post's id, a decimal number below 2^256. */
  id: string;
  /** The cid of the document, as the chain has it. */
  cid: string;
  /** The price in wei, in decimal digits. */
  price: string;
  /** The price in ETH. */
  priceText: string;
  /** Whether the price is zero. */
  free: boolean;
  /** Whether the document is stored here. */
  hosted: boolean;
  /** Whether the item has the text of the post. */
  hasText: boolean;
}

/** A WebSub hub. */
export interface FeedHub {
  /** `WebSub`. */
  type: string;
  /** The address of the hub. */
  url: string;
}

/** What is wrong, for programs. A code never changes its meaning, and a later version may add codes. */
export type Code =
  | "invalid_request"
  | "invalid_json"
  | "invalid_cid"
  | "invalid_address"
  | "invalid_post_id"
  | "invalid_tags"
  | "invalid_page_token"
  | "invalid_typed_data"
  | "invalid_login_message"
  | "invalid_image"
  | "invalid_profile"
  | "signature_invalid"
  | "signature_stale"
  | "body_mismatch"
  | "form_not_accepted"
  | "writing_session_invalid"
  | "writing_session_expired"
  | "writing_session_scope"
  | "session_missing"
  | "session_invalid"
  | "session_expired"
  | "session_ended"
  | "webhook_signature_invalid"
  | "payment_required"
  | "not_owner"
  | "not_author"
  | "subject_mismatch"
  | "not_entitled"
  | "not_free"
  | "author_refused"
  | "not_found"
  | "no_opening"
  | "unknown_revision"
  | "method_not_allowed"
  | "request_timeout"
  | "nonce_used"
  | "not_pending"
  | "already_onchain"
  | "too_many_writing_sessions"
  | "too_many_feeds"
  | "too_many_revisions"
  | "not_final"
  | "removed"
  | "not_cached"
  | "too_large"
  | "quota_exceeded"
  | "unsupported_media_type"
  | "range_not_satisfiable"
  | "rate_limited"
  | "withheld"
  | "not_implemented"
  | "chain_unavailable"
  | "storage_unavailable"
  | "database_unavailable"
  | "index_unavailable"
  | "overloaded"
  | "internal_error";

// records: end
