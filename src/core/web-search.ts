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

export interface WebSearch {
  find(query: string, signal: AbortSignal): Promise<SearchAnswer>;
}
