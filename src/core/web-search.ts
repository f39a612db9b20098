export interface FoundPage {
  readonly title: string;
  readonly url: string;
  readonly description: string;
  /** The part of the page around the description; empty if it was not found. */
  readonly content: string;
}

export interface SearchAnswer {
  readonly pages: readonly FoundPage[];
  /** Why the search failed, as a sentence. */
  readonly problem?: string;
}

/** A page by its address: text in UTF-8, other files as they are. */
export type PageAnswer =
  | { readonly contentType: string; readonly bytes: Uint8Array }
  /** Why there is none, as a sentence. */
  | { readonly problem: string };

export interface WebSearch {
  find(query: string, signal: AbortSignal): Promise<SearchAnswer>;
  /** Fetches a page on the public internet. */
  page(url: string, signal: AbortSignal): Promise<PageAnswer>;
}
