import { AppError } from '../core/errors.ts';
import { inSlices } from '../core/slices.ts';
import type { FoundPage, SearchAnswer, WebSearch } from '../core/web-search.ts';
import { isPublicAddress } from '../http/address.ts';
import { type Fetched, fetchRemote, type OutgoingOptions } from '../http/outgoing.ts';
import { collapsed, pageText, passageAround } from './page-text.ts';
import { bestHits, type Hit, hitsOnPage, searxngHits } from './search-page.ts';

/** A page for people, without a key and without a script. */
const usualPage = 'https://html.duckduckgo.com/html/';

/** Some pages answer browsers only; this is what programs like ours say to them. */
const manner = { milliseconds: 30_000, bytes: 3 * 2 ** 20, userAgent: 'Mozilla/5.0 (compatible; Parley)' };
/** Each of them fetches up to four pages at a time. */
const mostAtOnce = 8;
/** Of these the first few that lead away from the search page are taken. */
const mostHits = 300;

export interface WebSearchParts {
  /** Of `--websearchurl`; empty for the usual one. */
  readonly url: string;
  readonly warn: (sentence: string) => void;
  readonly fetch?: (target: string, options: OutgoingOptions) => Promise<Fetched>;
}

/** Searches with a page or a SearXNG instance, then reads the pages that were found for what stands around the snippets. */
export function webSearch({ url, warn, fetch = fetchRemote }: WebSearchParts): WebSearch {
  const template = url || usualPage;
  let running = 0;
  let told = '';
  let last: { readonly query: string; readonly answer: SearchAnswer } | undefined;
  return {
    async find(text, signal) {
      const query = plainQuery(text);
      if (query === '') return { pages: [] };
      if (last?.query === query) return last.answer;
      if (running >= mostAtOnce) throw new AppError('busy', { retryAfterSeconds: 5 });
      running += 1;
      try {
        const found = await hitsFor(query, { template, isOurs: url !== '', fetch, signal });
        if ('problem' in found) {
          // Who went away ended it, and not the search page.
          if (signal.aborted) return { pages: [] };
          if (found.problem !== told) warn(found.problem);
          told = found.problem;
          return { pages: [], problem: found.problem };
        }
        told = '';
        const pages = await Promise.all(found.hits.map((hit) => readPage(hit, { fetch, signal })));
        const answer = { pages };
        if (pages.length > 0 && !signal.aborted) last = { query, answer };
        return answer;
      } finally {
        running -= 1;
      }
    },
  };
}

interface Fetching {
  readonly fetch: NonNullable<WebSearchParts['fetch']>;
  readonly signal: AbortSignal;
}

interface Asked extends Fetching {
  readonly template: string;
  readonly isOurs: boolean;
}

type Found = { readonly hits: readonly Hit[] } | { readonly problem: string };

/** An address that somebody named is asked for JSON first; one that refuses that is asked again as a browser asks. */
async function hitsFor(query: string, asked: Asked): Promise<Found> {
  const { template, isOurs, fetch, signal } = asked;
  const attempts = isOurs ? [true, false] : [false];
  let problem = '';
  for (const asJson of attempts) {
    const address = searchAddress(template, query, { asJson });
    // Whoever named the address knows where it is; what it leads to must be public all the same.
    const allows = (ip: string, { host }: URL): boolean => (isOurs && host === address.host) || isPublicAddress(ip);
    const page = await fetch(address.href, { ...manner, signal, allows });
    if (page.type === 'fetched') return { hits: await readHits(page, address, signal) };
    problem = `The search page ${address.origin} ${page.reason}.`;
    // One that does not answer at all would be waited for twice.
    if (!page.reason.startsWith('answers with status')) break;
  }
  return { problem };
}

async function readHits(
  page: Fetched & { type: 'fetched' },
  address: URL,
  signal: AbortSignal,
): Promise<readonly Hit[]> {
  const listed = searxngHits(page.bytes);
  if (listed) return bestHits(listed, address);
  const html = pageString(page.bytes, page.contentType);
  const hits: Hit[] = [];
  await inSlices(
    (function* () {
      for (const hit of hitsOnPage(html)) {
        if (hit && hits.push(hit) >= mostHits) return;
        yield;
      }
    })(),
    { signal },
  );
  return bestHits(hits, address);
}

/** A page that cannot be had is a result all the same. */
async function readPage(hit: Hit, { fetch, signal }: Fetching): Promise<FoundPage> {
  const page = await fetch(hit.url, { ...manner, signal });
  if (page.type === 'refused' || !isText(page.contentType)) return { ...hit, content: '' };
  const text = await inSlices(pageText(pageString(page.bytes, page.contentType)), { signal });
  return { ...hit, content: await inSlices(passageAround(text, hit.description), { signal }) };
}

function isText(contentType = 'text/html'): boolean {
  return /^\s*(?:text\/(?:html|plain)|application\/xhtml\+xml)\b/i.test(contentType);
}

/** The text of a page in the encoding that it says it has, UTF-8 otherwise. */
export function pageString(bytes: Uint8Array, contentType: string | undefined): string {
  const beginning = Buffer.from(bytes.subarray(0, 1024)).toString('latin1');
  const label = charsetIn(contentType ?? '') ?? charsetIn(beginning) ?? 'utf-8';
  try {
    return new TextDecoder(label).decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}

function charsetIn(text: string): string | undefined {
  return /charset\s*=\s*["']?([\w-]{1,40})/i.exec(text)?.[1];
}

const mostBytes = 500;

/** One line without needless space, cut between two characters. */
export function plainQuery(text: string): string {
  const query = collapsed(text.slice(0, 16 * mostBytes));
  let bytes = 0;
  let end = 0;
  for (const character of query) {
    bytes += Buffer.byteLength(character);
    if (bytes > mostBytes) break;
    end += character.length;
  }
  return query.slice(0, end).trim();
}

/** `%s` stands for the query, as in the search pages of browsers; where there is none, it is the parameter `q`. */
export function searchAddress(template: string, query: string, { asJson }: { readonly asJson: boolean }): URL {
  const placed = template.includes('%s');
  const url = new URL(placed ? template.replaceAll('%s', () => encodeURIComponent(query)) : template);
  if (!placed) url.searchParams.set('q', query);
  if (asJson) url.searchParams.set('format', 'json');
  return url;
}
