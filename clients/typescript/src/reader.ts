/**
 * Reading from a service: sessions, texts, posts, lists and feeds. A page for readers needs no
 * more.
 */

import { createSiweMessage } from "viem/siwe";
import { List, type Page } from "./list.js";
import { isStale } from "./problems.js";
import type * as records from "./records.js";
import type { Form, ServiceFacts, Session } from "./records.js";
import { addQuery, type Fetch, fetchResponse, pause, readJson } from "./transport.js";
import { randomNonce } from "./typed-data.js";
import type { Wallet } from "./wallet.js";

export interface ClientOptions {
  fetch?: Fetch;
  /** How writes are signed; `imprint-2` unless the service does not accept it. */
  form?: Form;
  /** The name of the signing domain in `inkdao-1`; by default the one that the service states. */
  domainName?: string;
  /** Aborts all requests of this client. */
  signal?: AbortSignal;
}

export interface LoginOptions {
  /**
   * The origin of the requesting page, which the wallet shows; by default that of the client's
   * URL, and not one that the service claims to have: a message for another service could be
   * presented there.
   */
  origin?: string;
  statement?: string;
  /** With `false` the session is only returned, and `session` does not change. */
  remember?: boolean;
}

export interface WaitOptions {
  /** The pause between two requests, in milliseconds. */
  everyMs?: number;
  signal?: AbortSignal;
}

type Query = Parameters<typeof addQuery>[1];

interface Sending {
  method?: string;
  body?: FormData | object;
  accept?: string;
  /** Also return a response with this status. */
  except?: number;
}

const ZERO_ADDRESS = "0x0000000000000000000000000000000000000000";

/** A connection to a service, with at most one session. */
export class ImprintReader {
  /** Sent as a bearer token if set; `login` sets it. */
  session: Session | null = null;
  readonly url: string;
  protected readonly fetch: Fetch;
  protected readonly signal: AbortSignal | null;
  /** Shared with the clients that `as` and `within` create. */
  private readonly clock = { ahead: 0 };

  /** Fetch the facts of the service: its signing domain and its chain. */
  static async connect<T>(
    this: new (
      url: string,
      facts: ServiceFacts,
      options?: ClientOptions,
    ) => T,
    url: string,
    options: ClientOptions = {},
  ): Promise<T> {
    const { fetch = globalThis.fetch, signal } = options;
    const address = `${trimSlash(url)}/.well-known/imprint.json`;
    const init: RequestInit = { headers: { Accept: "application/json" }, signal: signal ?? null };
    const response = await fetchResponse(fetch, address, init);
    // `this` is the class on which `connect` is called.
    return new this(url, await readJson<ServiceFacts>(response, signal), options);
  }

  /** A page that already has the facts needs no request. */
  constructor(
    url: string,
    readonly facts: ServiceFacts,
    options: ClientOptions = {},
  ) {
    this.url = trimSlash(url);
    // Looked up at each request: a page may replace it, and browsers refuse it without its `this`.
    this.fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
    this.signal = options.signal ?? null;
    // Not by `setClock`, which a page may override to do more.
    this.clock.ahead = aheadOf(facts.now);
  }

  /**
   * A copy of this client with another session, which only the copy uses. They share the clock.
   */
  as(session: Session | null): this {
    return Object.assign(Object.create(this), { session });
  }

  /**
   * A copy of this client whose requests this signal also aborts. It has this client's session
   * until it logs in or out. They share the clock.
   */
  within(signal: AbortSignal): this {
    const ends = this.signal ? AbortSignal.any([this.signal, signal]) : signal;
    return Object.assign(Object.create(this), { signal: ends });
  }

  /**
   * Synchronize with the time of the service, in Unix seconds. Refusals of stale signatures do so.
   */
  setClock(unixSeconds: number): void {
    this.clock.ahead = aheadOf(unixSeconds);
  }

  /** The time of the service in Unix seconds. */
  now(): number {
    return Math.floor(Date.now() / 1000 + this.clock.ahead);
  }

  // Sessions

  /** Log in with any wallet (EIP-4361), and return a session for reading. */
  async login(wallet: Wallet, options: LoginOptions = {}): Promise<Session> {
    const {
      origin = new URL(this.url).origin,
      statement = "Sign in to read.",
      remember = true,
    } = options;
    const { address } = wallet;
    const salt = createSiweMessage({
      address,
      domain: new URL(origin).host,
      uri: origin,
      version: "1",
      chainId: this.facts.chain.id,
      nonce: randomNonce(),
      issuedAt: new Date(this.now() * 1000),
      statement,
    });
    const body = { salt, address, signature: await wallet.signMessage(salt) };
    const session = await this.send<Session>("/auth/login", body);
    if (remember) this.session = session;
    return session;
  }

  /** End this session, or every session of its address, everywhere and at once. */
  async logout({ all = false }: { all?: boolean } = {}): Promise<void> {
    await this.request("/auth/logout", { method: "POST", body: all ? { all } : {} });
    this.session = null;
  }

  // Texts

  /** A draft of the session's address. */
  readDraft(cid: string): Promise<records.Content> {
    return this.get("/fileByCid", { cid });
  }

  /** A post, for its author, for holders of its token, and for everybody if its price is 0. */
  readPost(
    postId: string | bigint,
    user: string = this.session?.address ?? ZERO_ADDRESS,
  ): Promise<records.Content> {
    return this.get("/fileByPostId", { user, postId });
  }

  /** A post whose price is 0; needs no session. */
  readFreePost(postId: string | bigint): Promise<records.Content> {
    return this.get("/freeFileByPostId", { postId });
  }

  /**
   * A post, with the session, or without one if its price is 0: the newest version, or the one
   * with this number; 0 is the document on the chain.
   */
  readPostContent(
    id: string | bigint,
    { revision }: { revision?: number } = {},
  ): Promise<records.PostContent> {
    return this.get(addQuery(`/posts/${id}/content`, { revision }));
  }

  /** The corrected versions of a post without their texts, newest first. */
  async listRevisions(id: string | bigint): Promise<records.ListedRevision[]> {
    const path = `/posts/${id}/revisions`;
    return (await this.get<{ revisions: records.ListedRevision[] }>(path)).revisions;
  }

  /** The opening of a post, which everybody may read; `no_opening` if the post has none. */
  readOpening(id: string | bigint): Promise<records.Opening> {
    return this.get(`/posts/${id}/opening`);
  }

  /**
   * The stored bytes of a post that is free or that the session may read; they match its cid. A
   * service without pages, or one that encrypts documents, refuses with `not_found`.
   */
  async readPostDocument(id: string | bigint): Promise<Uint8Array> {
    const response = await this.request(`/p/${id}/document`, { accept: "*/*" });
    return new Uint8Array(await response.arrayBuffer());
  }

  /** The position of a post on the chain; `not_final` before its block is final. */
  getPostProof(id: string | bigint): Promise<records.PostProof> {
    return this.get(`/posts/${id}/proof.json`);
  }

  /** A post as Markdown; if the session may not read it, its opening and how to buy it. */
  getPostMarkdown(id: string | bigint): Promise<string> {
    return this.readText(`/posts/${id}.md`, { except: 402 });
  }

  /** The bytes of a thumbnail or of a public text; `range` as in HTTP, such as `bytes=0-99`. */
  async fetchDocument(
    cid: string,
    options: { format?: "raw" | "car"; scope?: "block" | "entity" | "all"; range?: string } = {},
  ): Promise<records.FetchedDocument> {
    const { format, scope, range } = options;
    const path = addQuery(`/ipfs/${encodeURIComponent(cid)}`, { format, "dag-scope": scope });
    const response = await this.request(path, { accept: "*/*" }, range ? { Range: range } : {});
    const bytes = new Uint8Array(await response.arrayBuffer());
    return { bytes, mediaType: response.headers.get("Content-Type") ?? "" };
  }

  // Lists of files on this service

  /** The drafts of the session's address, newest first. */
  listDrafts({ owner }: { owner?: string } = {}): List<records.HostedFile> {
    const whose = owner ?? this.session?.address ?? ZERO_ADDRESS;
    return this.listFiles("/pendingFilesByOwner", { owner: whose });
  }

  /** The posts of this service, newest first, or only the file with this cid. */
  listPosts({ cid }: { cid?: string } = {}): List<records.HostedFile> {
    return this.listFiles("/filesMetaData", { cid });
  }

  /** The posts of this service with all of these hashtags, newest first. */
  listPostsByTags(tags: string[]): List<records.HostedFile> {
    return this.listFiles("/filesByTags", { tags: tags.join(",") });
  }

  /**
   * The file with a cid, once the service knows that it is a post on the chain.
   *
   * Throws the signal's reason at once when it is aborted, by default a `TimeoutError` after 60
   * seconds.
   */
  async waitForPost(
    cid: string,
    { everyMs = 500, signal = AbortSignal.timeout(60_000) }: WaitOptions = {},
  ): Promise<records.HostedFile> {
    const asking = this.within(signal);
    for (;;) {
      const [file] = (await asking.listPosts({ cid }).page()).items;
      if (file?.keyvalues.status === "onchain") return file;
      await pause(everyMs, asking.signal);
    }
  }

  /** The page of drafts or posts with this page token. */
  async listNextPage(nextPageToken: string): Promise<Page<records.HostedFile>> {
    const page = await this.get<FilePage>("/filesByNextPageToken", {
      next_page_token: nextPageToken,
    });
    return { items: page.files, nextPageToken: page.next_page_token };
  }

  // The index of the chain

  /** The posts on the chain that match a search and filters. */
  listIndexedPosts(query: records.PostQuery = {}): List<records.Post> {
    return this.list<"posts", records.Post>("/posts", "posts", { ...query });
  }

  showPost(id: string | bigint): Promise<records.Post> {
    return this.get(`/posts/${id}`);
  }

  /** The operator's measures concerning the session's author and their posts. */
  async listMeasures(): Promise<records.MeasureRecord[]> {
    return (await this.get<{ measures: records.MeasureRecord[] }>("/me/measures")).measures;
  }

  /** Report a post to the operator; returns the id of the report. */
  async reportPost(
    postId: string | bigint,
    reason: records.Report["reason"],
    text: string,
    { contact }: { contact?: string } = {},
  ): Promise<string> {
    const reached = contact === undefined ? {} : { contact };
    const body: records.Report = { postId: String(postId), reason, text, ...reached };
    return (await this.send<{ report: { id: string } }>("/reports", body)).report.id;
  }

  showAuthor(address: string): Promise<records.Author> {
    return this.get(`/authors/${address}`);
  }

  /** The posts that the session's address holds, newest purchase first. */
  listLibrary(query: { q?: string; limit?: number } = {}): List<records.HeldPost> {
    return this.list<"posts", records.HeldPost>("/me/library", "posts", query);
  }

  /** All posts of the session's address, newest first, with the measures that hide them. */
  listOwnPosts(query: { limit?: number } = {}): List<records.OwnPost> {
    return this.list<"posts", records.OwnPost>("/me/posts", "posts", query);
  }

  /** The sales of the session's address, newest first. */
  listSales(query: { limit?: number } = {}): List<records.Sale> {
    return this.list<"sales", records.Sale>("/me/sales", "sales", query);
  }

  /**
   * All sales of the session's address as one table (CSV, RFC 4180), with a header line.
   *
   * `limit` is the page size; all pages are fetched.
   */
  async salesCsv({ limit = 1000 }: { limit?: number } = {}): Promise<string> {
    let table = "";
    let token: string | null = null;
    do {
      const path = addQuery("/me/sales", { limit, next_page_token: token });
      const response: Response = await this.request(path, { accept: "text/csv" });
      const text = await response.text();
      // Every page repeats the header line.
      table += table ? text.slice(text.indexOf("\n") + 1) : text;
      const link = /<([^>]+)>;\s*rel="?next/.exec(response.headers.get("Link") ?? "");
      token = link?.[1] ? new URL(link[1], this.url).searchParams.get("next_page_token") : null;
    } while (token !== null);
    return table;
  }

  /** The totals of the marketplace, and its last 90 days. */
  showStats(): Promise<records.Stats> {
    return this.get("/stats");
  }

  async getGlobalMetrics(): Promise<records.GlobalMetrics> {
    return (await this.get<Metrics<records.GlobalMetrics>>("/globalMetrics")).data;
  }

  async getUserMetrics(userAddress: string): Promise<records.UserMetrics> {
    return (await this.get<Metrics<records.UserMetrics>>("/userMetrics", { userAddress })).data;
  }

  async getHeatMap(userAddress: string): Promise<records.HeatMap> {
    return (await this.get<Metrics<records.HeatMap>>("/heatmap", { userAddress })).data;
  }

  // Feeds

  getFeedAtom(): Promise<string> {
    return this.readText("/feeds/posts.atom");
  }

  getFeedJson(): Promise<records.JsonFeed> {
    return this.get("/feeds/posts.json");
  }

  getTagFeedAtom(tag: string): Promise<string> {
    return this.readText(`/feeds/tags/${encodeURIComponent(tag)}.atom`);
  }

  getTagFeedJson(tag: string): Promise<records.JsonFeed> {
    return this.get(`/feeds/tags/${encodeURIComponent(tag)}.json`);
  }

  getAuthorFeedAtom(address: string): Promise<string> {
    return this.readText(`/feeds/authors/${address}.atom`);
  }

  getAuthorFeedJson(address: string): Promise<records.JsonFeed> {
    return this.get(`/feeds/authors/${address}.json`);
  }

  /** A feed of everything that the session's address may read; its URLs are shown once. */
  addPrivateFeed(): Promise<records.FeedAccess> {
    return this.send("/me/feeds", {});
  }

  async listPrivateFeeds(): Promise<records.PrivateFeed[]> {
    return (await this.get<{ feeds: records.PrivateFeed[] }>("/me/feeds")).feeds;
  }

  /** Create new URLs for a private feed; the old ones stop working. */
  rotatePrivateFeed(id: string): Promise<records.FeedAccess> {
    return this.send(`/me/feeds/${id}`, {});
  }

  async removePrivateFeed(id: string): Promise<void> {
    await this.request(`/me/feeds/${id}`, { method: "DELETE" });
  }

  /** For older posts, take `before` from the `next_url` of the feed. */
  getPrivateFeedAtom(token: string, query: { before?: string } = {}): Promise<string> {
    return this.readText(addQuery(`/feeds/private/${token}.atom`, query));
  }

  getPrivateFeedJson(token: string, query: { before?: string } = {}): Promise<records.JsonFeed> {
    return this.get(`/feeds/private/${token}.json`, query);
  }

  // The service itself

  getServiceFacts(): Promise<ServiceFacts> {
    return this.get("/.well-known/imprint.json");
  }

  getMarketplace(): Promise<records.MarketplaceFacts> {
    return this.get("/.well-known/marketplace.json");
  }

  getOpenapi(): Promise<Record<string, unknown>> {
    return this.get("/openapi.json");
  }

  checkHealth(): Promise<{ status: "alive" }> {
    return this.get("/healthz");
  }

  /** A service that is not ready also reports why. */
  async checkReadiness(): Promise<records.Readiness> {
    return readJson(await this.request("/readyz", { except: 503 }), this.signal);
  }

  // Requests

  /** GET JSON from a path of the service. */
  async get<T>(path: string, query: Query = {}): Promise<T> {
    return readJson<T>(await this.request(addQuery(path, query)), this.signal);
  }

  /** POST to a path of the service; the body is a form, or becomes JSON. */
  async send<T>(path: string, body: FormData | object): Promise<T> {
    return readJson<T>(await this.request(path, { method: "POST", body }), this.signal);
  }

  private async readText(path: string, sending: Sending = {}): Promise<string> {
    return (await this.request(path, { accept: "*/*", ...sending })).text();
  }

  /** Any request to the service, with the session if there is one. */
  protected async request(
    path: string,
    sending: Sending = {},
    more: HeadersInit = {},
  ): Promise<Response> {
    const { method = "GET", body, accept = "application/json, */*;q=0.1", except } = sending;
    const headers = new Headers({ Accept: accept, ...more });
    if (this.session) headers.set("Authorization", `Bearer ${this.session.token}`);
    const init: RequestInit = { method, headers, signal: this.signal };
    if (body instanceof FormData) init.body = body;
    else if (body) {
      headers.set("Content-Type", "application/json");
      init.body = JSON.stringify(body);
    }
    try {
      return await fetchResponse(this.fetch, this.url + path, init, except);
    } catch (error) {
      if (isStale(error) && error.problem.now !== undefined) this.setClock(error.problem.now);
      throw error;
    }
  }

  private listFiles(path: string, query: Query): List<records.HostedFile> {
    return new List(async (token) => {
      if (token !== undefined) return this.listNextPage(token);
      const page = await this.get<FilePage>(path, query);
      return { items: page.files, nextPageToken: page.next_page_token };
    });
  }

  private list<Member extends string, T>(path: string, member: Member, query: Query): List<T> {
    return new List(async (token) => {
      type Given = Record<Member, T[]> & { next_page_token: string | null };
      const page = await this.get<Given>(path, { ...query, next_page_token: token });
      return { items: page[member], nextPageToken: page.next_page_token };
    });
  }
}

interface FilePage {
  files: records.HostedFile[];
  next_page_token: string | null;
}

interface Metrics<T> {
  statusCode: number;
  data: T;
}

/** Seconds by which the service's clock is ahead of this device's. */
const aheadOf = (unixSeconds: number): number => unixSeconds - Date.now() / 1000;

const trimSlash = (url: string): string => url.replace(/\/+$/, "");
