/** Every text of documents and web search. */
export const texts = {
  document: {
    mode: (name: string) => `How to send ${name}`,
    whole: 'Whole',
    passages: 'Best passages',
    cutting: 'Reading …',
    embedding: (done: number, total: number) => `Embedding ${Math.floor((100 * done) / Math.max(1, total))} %`,
    ready: (count: number) => (count === 1 ? '1 passage' : `${count.toLocaleString('en')} passages`),
    keywords: 'Keyword search',
    keywordsHelp: 'The server has no embedding model. Passages are found by their words.',
    keywordsFailed: (reason: string) => `Passages are found by their words. The embedding model failed: ${reason}`,
    tooLong: 'Longer than the context: the start of the chat is dropped.',
  },
  search: {
    on: 'Web search: on',
    off: 'Web search',
    running: 'Searching the web …',
    failed: (reason: string) => `Web search failed: ${reason} The message was sent without results.`,
    nothing: 'The web search found nothing. The message was sent without results.',
  },
  formats: {
    missing: (part: string) => `it is damaged (no ${part}).`,
  },
  retrieval: {
    preparing: (name: string, percent: number) => `Reading ${name} … ${percent} %`,
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
