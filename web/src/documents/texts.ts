import { number, plural, translatable } from '../languages/index.ts';

/** Every text of documents and web search. */
export const texts = translatable('documents', {
  document: {
    mode: (name: string) => `How to send ${name}`,
    whole: 'Whole',
    passages: 'Best passages',
    cutting: 'Reading …',
    embedding: (done: number, total: number) => `Indexing ${number(done)} of ${number(total)}`,
    ready: (total: number) => plural(total, { one: '# passage', other: '# passages' }),
    keywords: 'Keyword search',
    keywordsHelp: 'The server has no embedding model. Passages are found by their words.',
    keywordsFailed: (reason: string) => `Passages are found by their words. The embedding model failed: ${reason}`,
  },
  search: {
    label: 'Web search',
    short: 'Search',
    running: 'Searching the web …',
    failed: (reason: string) => `Web search failed: ${reason} The message was sent without results.`,
    nothing: 'The web search found nothing. The message was sent without results.',
  },
  retrieval: {
    preparing: (name: string, done: number, total: number) =>
      total === 0 ? `Reading ${name} …` : `Indexing ${name}: ${number(done)} of ${number(total)} passages …`,
    searching: 'Searching your documents …',
  },
  page: {
    attach: 'Attach web page',
    address: 'Address',
    placeholder: 'https://',
    get: 'Attach',
    getting: 'Loading …',
    invalid: 'Enter an address that starts with http:// or https://.',
    failed: (address: string, reason: string) => `Can't attach ${address}: ${reason}`,
  },
});
