/** What a search page says of one result. */
export interface Hit {
  readonly title: string;
  readonly url: string;
  readonly description: string;
}

/** As many as clients are told. */
const mostHits = 3;

/** The first few that lead away from the search page, each once. */
export function bestHits(hits: Iterable<Hit>, searchPage: URL): readonly Hit[] {
  const found = new Map<string, Hit>();
  for (const hit of hits) {
    const url = targetOf(hit.url, searchPage);
    if (url === undefined || hit.title === '' || found.has(url)) continue;
    found.set(url, { ...hit, url });
    if (found.size === mostHits) break;
  }
  return [...found.values()];
}

function targetOf(href: string, searchPage: URL): string | undefined {
  if (!URL.canParse(href, searchPage.href)) return undefined;
  const url = new URL(href, searchPage);
  // The way over the search page itself, which counts who goes where.
  const wrapped = url.searchParams.get('uddg');
  if (wrapped !== null) return URL.canParse(wrapped) ? targetOf(wrapped, searchPage) : undefined;
  const isWeb = url.protocol === 'http:' || url.protocol === 'https:';
  return isWeb && !isSameSite(url.host, searchPage.host) ? url.href : undefined;
}

/** Settings, further pages and advertisements of the search page, also under a shorter or longer name of it. */
function isSameSite(host: string, own: string): boolean {
  return host === own || host.endsWith(`.${own}`) || own.endsWith(`.${host}`);
}
