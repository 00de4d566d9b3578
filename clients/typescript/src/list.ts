/** Paged lists: item by item, page by page, or starting from a page token. */

export interface Page<T> {
  items: T[];
  /** For `page()`; null on the last page. */
  nextPageToken: string | null;
}

/** All items of a list. A page is requested when its first item is needed. */
export class List<T> implements AsyncIterable<T> {
  constructor(
    /** Requests the page with this token, or the first page without one. */
    readonly page: (token?: string) => Promise<Page<T>>,
  ) {}

  async *pages(): AsyncGenerator<Page<T>, void, undefined> {
    let page = await this.page();
    yield page;
    while (page.nextPageToken !== null) {
      page = await this.page(page.nextPageToken);
      yield page;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const page of this.pages()) yield* page.items;
  }

  /** Every item, or the first `most` items. */
  async collect(most = Number.POSITIVE_INFINITY): Promise<T[]> {
    const found: T[] = [];
    for await (const each of this) {
      if (found.length >= most) break;
      found.push(each);
    }
    return found;
  }
}
