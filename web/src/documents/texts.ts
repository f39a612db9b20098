const count = (number: number): string => number.toLocaleString('en');

/** Every text of documents and web search. */
export const texts = {
  document: {
    mode: (name: string) => `How to send ${name}`,
    whole: 'Whole',
    passages: 'Best passages',
    cutting: 'Reading …',
    embedding: (done: number, total: number) => `Indexing ${count(done)} of ${count(total)}`,
    ready: (total: number) => (total === 1 ? '1 passage' : `${count(total)} passages`),
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
      total === 0 ? `Reading ${name} …` : `Indexing ${name}: ${count(done)} of ${count(total)} passages …`,
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
} as const;
