import { attempt } from '../core/attempt.ts';
import type { AllowsUrl, SearchResult } from '../core/web-search.ts';
import { parseJson } from '../http/body.ts';
import { attributeOf, type HtmlPiece, htmlPieces } from './html.ts';
import { collapsed } from './page-text.ts';

const headings: ReadonlySet<string> = new Set(['h2', 'h3', 'h4']);
const titleClass = /(?:^|\s)result(?:__a|-link|-title|__title-a)(?:\s|$)/i;
const descriptionClass = /(?:^|[\s_-])(?:snippet|content|description|desc|abstract)(?:$|[\s_-])/i;
const maxDescriptionLength = 500;
/** More tags than any search page has. */
const maxPieces = 200_000;
const piecesAtOnce = 100;
const longTag = 1000;

/**
 * The results on a search page. A link in a heading, or with a class such as `result__a`, is the title of a result. The
 * description is the element with a class such as `snippet` behind it, or all text up to the next title.
 */
export function* hitsOnPage(html: string): Generator<Hit | undefined, void> {
  let pieces = 0;
  let reading: Reading | undefined;
  let heading = 0;
  for (const piece of htmlPieces(html)) {
    if (piece.type !== 'text' && headings.has(piece.name)) heading += piece.type === 'open' ? 1 : -1;
    if (heading < 0) heading = 0;
    const url = titleLink(piece, heading > 0);
    if (url !== undefined) {
      if (reading) yield reading.hit();
      reading = new Reading(url);
    } else reading?.read(piece);
    pieces += 1;
    if (pieces >= maxPieces) break;
    const isLong = piece.type === 'open' && piece.inside.length > longTag;
    if (pieces % piecesAtOnce === 0 || piece.type === 'text' || isLong) yield undefined;
  }
  if (reading) yield reading.hit();
}

function titleLink(piece: HtmlPiece, inHeading: boolean): string | undefined {
  if (piece.type !== 'open' || piece.name !== 'a') return undefined;
  if (!inHeading && !titleClass.test(attributeOf(piece.inside, 'class') ?? '')) return undefined;
  return attributeOf(piece.inside, 'href');
}

/** Collects one result. */
class Reading {
  #title = '';
  #description = '';
  #inTitle = true;
  /** Nesting inside the description element; undefined before it, 0 after it. */
  #depth: number | undefined;
  #element = '';

  constructor(readonly url: string) {}

  read(piece: HtmlPiece): void {
    if (piece.type === 'text') this.#add(piece.text);
    else if (this.#inTitle) {
      if (piece.type === 'close' && piece.name === 'a') this.#inTitle = false;
    } else if (this.#depth === undefined) this.#begin(piece);
    else if (this.#depth > 0 && piece.name === this.#element) this.#depth += piece.type === 'open' ? 1 : -1;
    else if (piece.name === 'br' || piece.name === 'p') this.#add(' ');
  }

  hit(): Hit {
    const description = collapsed(this.#description).slice(0, maxDescriptionLength);
    return { title: collapsed(this.#title), url: this.url, description };
  }

  #add(text: string): void {
    if (this.#inTitle) {
      if (this.#title.length < maxDescriptionLength) this.#title += text;
    } else if (this.#depth !== 0 && this.#description.length < 4 * maxDescriptionLength) this.#description += text;
  }

  #begin(piece: HtmlPiece): void {
    if (piece.type === 'open' && descriptionClass.test(attributeOf(piece.inside, 'class') ?? '')) {
      this.#description = '';
      this.#element = piece.name;
      this.#depth = 1;
    } else this.#add(' ');
  }
}

/** One search result. */
export type Hit = Omit<SearchResult, 'content'>;

const maxHits = 3;

/** The first few results that lead to other sites, without duplicates. */
export function bestHits(hits: Iterable<Hit>, searchPage: URL, allows?: AllowsUrl): readonly Hit[] {
  const best = new Map<string, Hit>();
  for (const hit of hits) {
    const url = targetOf(hit.url, searchPage);
    if (url === undefined || hit.title === '' || best.has(url) || allows?.(new URL(url)) === false) continue;
    best.set(url, { ...hit, url });
    if (best.size === maxHits) break;
  }
  return [...best.values()];
}

function targetOf(href: string, searchPage: URL): string | undefined {
  if (!URL.canParse(href, searchPage.href)) return undefined;
  const url = new URL(href, searchPage);
  // A redirect of the search page.
  const wrapped = url.searchParams.get('uddg');
  if (wrapped !== null) return URL.canParse(wrapped) ? targetOf(wrapped, searchPage) : undefined;
  const isWeb = url.protocol === 'http:' || url.protocol === 'https:';
  return isWeb && !isSameSite(url.host, searchPage.host) ? url.href : undefined;
}

/** The same host, a parent or a subdomain of it. */
function isSameSite(host: string, own: string): boolean {
  return host === own || host.endsWith(`.${own}`) || own.endsWith(`.${host}`);
}

const maxResults = 100;
const maxTextLength = 5000;

/** The results of a SearXNG instance in JSON; undefined for anything else. */
export function searxngHits(bytes: Uint8Array): readonly Hit[] | undefined {
  const { results } = (jsonIn(bytes) ?? {}) as { readonly results?: unknown };
  if (!Array.isArray(results)) return undefined;
  return results.slice(0, maxResults).flatMap((entry: unknown) => {
    const { title, url, content } = (entry ?? {}) as Record<string, unknown>;
    if (typeof title !== 'string' || typeof url !== 'string') return [];
    const short = (text: unknown): string => (typeof text === 'string' ? collapsed(text.slice(0, maxTextLength)) : '');
    return [{ title: short(title), url, description: short(content) }];
  });
}

/** The value of a JSON object. Most pages are ruled out by their first character. */
function jsonIn(bytes: Uint8Array): unknown {
  const beginning = new TextDecoder().decode(bytes.subarray(0, 64));
  if (!beginning.trimStart().startsWith('{')) return undefined;
  return attempt(() => parseJson(bytes), undefined);
}
