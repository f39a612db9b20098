export interface FoundPage {
  readonly title: string;
  readonly url: string;
  /** What the search page says of it. */
  readonly description: string;
  /** What stands around that in the page itself; empty where it could not be found there. */
  readonly content: string;
}

export interface SearchAnswer {
  readonly pages: readonly FoundPage[];
  /** Why there are none, as a sentence, where the search itself failed. */
  readonly problem?: string;
}

export interface WebSearch {
  find(query: string, signal: AbortSignal): Promise<SearchAnswer>;
}
