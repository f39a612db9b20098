import { attempt } from '../core/attempt.ts';
import type { ExtractedDocument } from '../core/documents.ts';
import { AppError } from '../core/errors.ts';
import { hideSecrets } from '../core/hide-secrets.ts';
import { percentDecoded } from '../core/percent-decoded.ts';
import { inSlices } from '../core/slices.ts';
import type { AllowsUrl, PageAnswer, PageText, SearchAnswer, SearchResult, WebSearch } from '../core/web-search.ts';
import { isPublicAddress } from '../http/address.ts';
import { type Fetched, fetchRemote, type OutgoingOptions } from '../http/outgoing.ts';
import { collapsed, pageText, pageTitle, passageAround } from './page-text.ts';
import { bestHits, type Hit, hitsOnPage, searxngHits } from './search-page.ts';

/** Works without a key and without scripts. */
const defaultPage = 'https://html.duckduckgo.com/html/';

/** Some sites answer only to user agents that begin like this. */
const fetchOptions = { milliseconds: 30_000, bytes: 3 * 2 ** 20, userAgent: 'Mozilla/5.0 (compatible; Parley)' };
/** A page that a client attaches to a chat may be a long PDF. */
const maxPageBytes = 20 * 2 ** 20;
/** Concurrent searches; each fetches up to four pages. */
const maxConcurrent = 8;
/** Candidates that are read from a search page. */
const maxHits = 300;

export interface WebSearchOptions {
  /** `--websearchurl`; empty for the default. */
  readonly url: string;
  readonly warn: (sentence: string) => void;
  readonly fetch?: (target: string, options: OutgoingOptions) => Promise<Fetched>;
  /** Reads a PDF or another document; throws `document-unreadable`. Without it, only pages and texts are read. */
  readonly extract?: (name: string, bytes: Uint8Array, signal: AbortSignal) => Promise<ExtractedDocument>;
}

/** Searches with a search page or a SearXNG instance, then fetches the results for the text around the snippets. */
export function webSearch({ url, warn, fetch = fetchRemote, extract }: WebSearchOptions): WebSearch {
  const template = url || defaultPage;
  const isConfigured = url !== '';
  let running = 0;
  let warned = '';
  let last: { readonly query: string; readonly answer: SearchAnswer } | undefined;

  /** A configured address is requested as JSON first, and as a page if it rejects that. */
  async function hitsFor(
    query: string,
    signal: AbortSignal,
    allowsHit?: AllowsUrl,
  ): Promise<{ hits: readonly Hit[] } | { problem: string }> {
    const attempts = isConfigured ? [true, false] : [false];
    let problem = '';
    for (const asJson of attempts) {
      const address = searchAddress(template, query, { asJson });
      // A configured address may be private; redirects to other hosts must be public.
      const allows = (ip: string, { host }: URL): boolean =>
        (isConfigured && host === address.host) || isPublicAddress(ip);
      const page = await fetch(address.href, { ...fetchOptions, signal, allows });
      if (page.type === 'fetched') return { hits: await readHits(page, address, signal, allowsHit) };
      problem = `The search page ${address.origin} ${page.reason}.`;
      // Without any answer a second attempt would only double the wait.
      if (!page.reason.startsWith('answers with status')) break;
    }
    return { problem };
  }

  /** A page that cannot be fetched is a result without content. */
  async function readPage(hit: Hit, signal: AbortSignal): Promise<SearchResult> {
    const page = await fetch(hit.url, { ...fetchOptions, signal });
    if (page.type === 'refused' || !isText(page.contentType)) return { ...hit, content: '' };
    const text = await inSlices(pageText(pageString(page.bytes, page.contentType)), { signal });
    return { ...hit, content: await inSlices(passageAround(text, hit.description), { signal }) };
  }

  /** One of the requests that may run at once. */
  async function counted<Result>(work: () => Promise<Result>): Promise<Result> {
    if (running >= maxConcurrent) throw new AppError('busy', { retryAfterSeconds: 5 });
    running += 1;
    try {
      return await work();
    } finally {
      running -= 1;
    }
  }

  async function pageAt(target: string, signal: AbortSignal): Promise<PageAnswer> {
    const page = await fetch(target, { ...fetchOptions, bytes: maxPageBytes, signal });
    if (page.type === 'refused')
      return { problem: `The address ${hideSecrets(target.slice(0, maxTargetLength))} ${page.reason}.` };
    const { bytes, contentType = 'text/html' } = page;
    if (!isReadable(contentType)) return { contentType, bytes };
    const text = new TextEncoder().encode(pageString(bytes, contentType));
    return { contentType: contentType.split(';')[0]?.trim() ?? '', bytes: text };
  }

  async function textAt(target: string, signal: AbortSignal, allows?: AllowsUrl): Promise<PageText> {
    let left: URL | undefined;
    const page = await fetch(target, {
      ...fetchOptions,
      ...(extract && { bytes: maxPageBytes }),
      signal,
      allows: (ip, hop) => {
        if (allows && !allows(hop)) left = hop;
        return left === undefined && isPublicAddress(ip);
      },
    });
    const address = hideSecrets(target.slice(0, maxTargetLength));
    if (left) return { problem: `${left.host} is not one of the allowed domains.`, cause: 'not-allowed' };
    if (page.type === 'refused') {
      const cause = page.reason.startsWith('is larger than') ? 'too-large' : 'unreachable';
      return { problem: `The address ${address} ${page.reason}.`, cause };
    }
    const { bytes, contentType = 'text/html' } = page;
    if (!isReadable(contentType)) {
      if (extract) return documentAt(target, bytes, signal);
      return { problem: `The address ${address} holds no text (${contentType}).`, cause: 'no-text' };
    }
    if (bytes.length > fetchOptions.bytes) {
      const problem = `The address ${address} is larger than ${fetchOptions.bytes / 2 ** 20} MB.`;
      return { problem, cause: 'too-large' };
    }
    const whole = pageString(bytes, contentType);
    const isHtml = /^\s*(?:text\/html|application\/xhtml\+xml)\b/i.test(contentType);
    if (!isHtml) return { url: target, title: '', text: whole };
    return { url: target, title: pageTitle(whole), text: await inSlices(pageText(whole), { signal }) };
  }

  async function documentAt(target: string, bytes: Uint8Array, signal: AbortSignal): Promise<PageText> {
    const name = fileNameAt(target);
    try {
      const { title = '', text = '' } = (await extract?.(name, bytes, signal)) ?? {};
      return { url: target, title: title === name ? '' : title, text };
    } catch (error) {
      if (error instanceof AppError && error.code === 'document-unreadable')
        return { problem: error.message, cause: 'no-text' };
      throw error;
    }
  }

  return {
    page: (target, signal) => counted(() => pageAt(target, signal)),
    text: (target, signal, allows) => counted(() => textAt(target, signal, allows)),
    async find(text, signal, allows) {
      const query = plainQuery(text);
      if (query === '') return { pages: [] };
      if (!allows && last?.query === query) return last.answer;
      return counted(async () => {
        const outcome = await hitsFor(query, signal, allows);
        if ('problem' in outcome) {
          // The client disconnected: not a problem of the search page.
          if (signal.aborted) return { pages: [] };
          if (outcome.problem !== warned) warn(outcome.problem);
          warned = outcome.problem;
          return { pages: [], problem: outcome.problem };
        }
        warned = '';
        const pages = await Promise.all(outcome.hits.map((hit) => readPage(hit, signal)));
        const answer = { pages };
        if (!allows && pages.length > 0 && !signal.aborted) last = { query, answer };
        return answer;
      });
    },
  };
}

/** The last part of its path. */
function fileNameAt(target: string): string {
  return percentDecoded(new URL(target).pathname.split('/').at(-1) ?? '').slice(-maxTargetLength) || 'The file';
}

/** Of an address, in an error. */
const maxTargetLength = 200;

async function readHits(page: Fetched & { type: 'fetched' }, address: URL, signal: AbortSignal, allows?: AllowsUrl) {
  const listed = searxngHits(page.bytes);
  if (listed) return bestHits(listed, address, allows);
  const html = pageString(page.bytes, page.contentType);
  const hits: Hit[] = [];
  await inSlices(
    (function* () {
      for (const hit of hitsOnPage(html)) {
        if (hit && hits.push(hit) >= maxHits) return;
        yield;
      }
    })(),
    { signal },
  );
  return bestHits(hits, address, allows);
}

function isReadable(contentType: string): boolean {
  return /^\s*text\/|[/+](?:xml|json)\b/i.test(contentType);
}

function isText(contentType = 'text/html'): boolean {
  return /^\s*(?:text\/(?:html|plain)|application\/xhtml\+xml)\b/i.test(contentType);
}

/** The text of a page in its declared encoding, otherwise UTF-8. */
export function pageString(bytes: Uint8Array, contentType: string | undefined): string {
  const beginning = Buffer.from(bytes.subarray(0, 1024)).toString('latin1');
  const label = charsetIn(contentType ?? '') ?? charsetIn(beginning) ?? 'utf-8';
  const decoder = attempt(() => new TextDecoder(label), new TextDecoder());
  return decoder.decode(bytes);
}

function charsetIn(text: string): string | undefined {
  return /charset\s*=\s*["']?([\w-]{1,40})/i.exec(text)?.[1];
}

const maxBytes = 500;

/** One line with collapsed white space, limited to `maxBytes`. */
export function plainQuery(text: string): string {
  const query = collapsed(text.slice(0, 16 * maxBytes));
  let bytes = 0;
  let end = 0;
  for (const character of query) {
    bytes += Buffer.byteLength(character);
    if (bytes > maxBytes) break;
    end += character.length;
  }
  return query.slice(0, end).trim();
}

/** `%s` is replaced by the query, as in browsers; without it the parameter `q` is set. */
export function searchAddress(template: string, query: string, { asJson }: { readonly asJson: boolean }): URL {
  const placed = template.includes('%s');
  const url = new URL(placed ? template.replaceAll('%s', () => encodeURIComponent(query)) : template);
  if (!placed) url.searchParams.set('q', query);
  if (asJson) url.searchParams.set('format', 'json');
  return url;
}
