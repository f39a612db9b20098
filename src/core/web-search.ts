export interface SearchResult {
  readonly title: string;
  readonly url: string;
  readonly description: string;
  /** The part of the page around the description; empty if it was not found. */
  readonly content: string;
}

export interface SearchAnswer {
  readonly pages: readonly SearchResult[];
  /** Why the search failed, as a sentence. */
  readonly problem?: string;
}

/** A page by its address: text in UTF-8, other files as they are. */
export type PageAnswer =
  | { readonly contentType: string; readonly bytes: Uint8Array }
  /** Why there is none, as a sentence. */
  | { readonly problem: string };

/** The text of a page on the public internet. */
export type PageText =
  | { readonly url: string; readonly title: string; readonly text: string }
  | { readonly problem: string; readonly cause: 'unreachable' | 'not-allowed' | 'too-large' | 'no-text' };

export type AllowsUrl = (url: URL) => boolean;

export interface WebSearch {
  /** Throws `busy` if too many run. `allows` selects among the results. */
  find(query: string, signal: AbortSignal, allows?: AllowsUrl): Promise<SearchAnswer>;
  /** Throws `busy` if too many run. `allows` applies to every redirect too. */
  text(url: string, signal: AbortSignal, allows?: AllowsUrl): Promise<PageText>;
  /** Fetches a page on the public internet. */
  page(url: string, signal: AbortSignal): Promise<PageAnswer>;
}
