import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { AppError } from '../core/errors.ts';
import { type Fetched, fetchRemote, type OutgoingOptions } from '../http/outgoing.ts';
import { articlePage, type Listed, listPage as listPageOf } from './testing/pages.ts';
import { pageString, plainQuery, searchAddress, type WebSearchOptions, webSearch } from './web-search.ts';

const listPage = (results: readonly Listed[]) => listPageOf(results, 'duckduckgo.com');
const never = new AbortController().signal;

/** A local server; returns its port and the requests. */
async function remote(listener: RequestListener) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close().closeAllConnections());
  return { port: (server.address() as AddressInfo).port, asked };
}

const description = 'A lighthouse is a tower that emits light.';
const pageBody = `<html><body><p>Before it.</p><p>${description}</p><p>Behind it.</p></body></html>`;
const listed = (url: string, own: Partial<Listed> = {}): Listed => ({ url, title: 'Lighthouses', description, ...own });

/** The web as a table from addresses to answers; what is not in it cannot be reached. */
function webOf(pages: Readonly<Record<string, string | Partial<Fetched>>>) {
  const asked: { readonly target: string; readonly options: OutgoingOptions }[] = [];
  const fetch = async (target: string, options: OutgoingOptions): Promise<Fetched> => {
    asked.push({ target, options });
    const found = pages[target];
    if (found === undefined) return { type: 'refused', reason: 'answers with status 404' };
    const body = typeof found === 'string' ? { bytes: Buffer.from(found) } : found;
    return { type: 'fetched', contentType: 'text/html', bytes: Buffer.alloc(0), ...body } as Fetched;
  };
  return { fetch, asked, targets: () => asked.map(({ target }) => target) };
}

function searchWith(parts: Partial<WebSearchOptions>) {
  const warnings: string[] = [];
  const search = webSearch({ url: '', warn: (sentence) => warnings.push(sentence), ...parts });
  return { search, warnings, find: (query: string, signal = never) => search.find(query, signal) };
}

const usual = 'https://html.duckduckgo.com/html/?q=lighthouse';

describe('webSearch', () => {
  test('requests the default page and reads the pages of its results', async () => {
    const web = webOf({ [usual]: listPage([listed('https://a.example/1')]), 'https://a.example/1': pageBody });
    expect(await searchWith(web).find(' lighthouse\n')).toEqual({
      pages: [
        {
          title: 'Lighthouses',
          url: 'https://a.example/1',
          description,
          content: `Before it. ${description} Behind it.`,
        },
      ],
    });
    expect(web.targets()).toEqual([usual, 'https://a.example/1']);
  });

  test('at most three results; unreachable pages have no content', async () => {
    const urls = ['https://a.example/', 'https://b.example/', 'https://c.example/', 'https://d.example/'];
    const web = webOf({
      [usual]: listPage(urls.map((url) => listed(url))),
      'https://a.example/': { bytes: Buffer.from(pageBody), contentType: 'application/pdf' },
      'https://c.example/': `<p>${description}</p>`,
    });
    const { pages } = await searchWith(web).find('lighthouse');
    expect(pages.map(({ url, content }) => [url, content])).toEqual([
      ['https://a.example/', ''],
      ['https://b.example/', ''],
      ['https://c.example/', description],
    ]);
  });

  test('limits time and bytes, and fetches public addresses only', async () => {
    const web = webOf({ [usual]: listPage([listed('https://a.example/1')]) });
    await searchWith(web).find('lighthouse');
    expect(web.asked.map(({ options: { milliseconds, bytes } }) => [milliseconds, bytes])).toEqual([
      [30_000, 3 * 2 ** 20],
      [30_000, 3 * 2 ** 20],
    ]);
    const [page, result] = web.asked;
    expect(page?.options.allows?.('127.0.0.1', new URL(usual))).toBe(false);
    expect(page?.options.allows?.('9.9.9.9', new URL(usual))).toBe(true);
    // Without its own rule the default applies.
    expect(result?.options.allows).toBeUndefined();
  });

  test('an empty query finds nothing without a request', async () => {
    const web = webOf({});
    expect(await searchWith(web).find(' \n ')).toEqual({ pages: [] });
    expect(web.targets()).toEqual([]);
  });

  test('reports a failure to the client each time, and to the console once', async () => {
    const { find, warnings } = searchWith(webOf({}));
    const problem = 'The search page https://html.duckduckgo.com answers with status 404.';
    expect(await find('lighthouse')).toEqual({ pages: [], problem });
    expect(await find('tower')).toEqual({ pages: [], problem });
    expect(warnings).toEqual([problem]);
  });
});

describe('webSearch: cache', () => {
  const pages = { [usual]: listPage([listed('https://a.example/1')]) };

  test('answers the same query again', async () => {
    const web = webOf(pages);
    const { find } = searchWith(web);
    expect(await find('  lighthouse ')).toBe(await find('lighthouse'));
    expect(web.targets()).toHaveLength(2);
    await find('tower');
    await find('lighthouse');
    expect(web.targets().filter((target) => target === usual)).toHaveLength(1);
  });

  test('does not cache an empty answer', async () => {
    const web = webOf({ [usual]: listPage([]) });
    const { find } = searchWith(web);
    expect([await find('lighthouse'), await find('lighthouse')]).toEqual([{ pages: [] }, { pages: [] }]);
    expect(web.targets()).toHaveLength(2);
  });

  test('does not report an aborted search', async () => {
    const { find, warnings } = searchWith(webOf({}));
    const gone = new AbortController();
    gone.abort();
    expect(await find('lighthouse', gone.signal)).toEqual({ pages: [] });
    expect(warnings).toEqual([]);
  });

  test('does not cache an aborted search', async () => {
    const web = webOf(pages);
    const { find } = searchWith(web);
    const gone = new AbortController();
    gone.abort();
    await find('lighthouse', gone.signal).catch(() => undefined);
    await find('lighthouse');
    expect(web.targets().filter((target) => target === usual)).toHaveLength(2);
  });
});

test('webSearch: rejects more than eight concurrent searches as busy', async () => {
  let answer: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const fetch = async (): Promise<Fetched> => {
    await held;
    return { type: 'refused', reason: 'is away' };
  };
  const { find } = searchWith({ fetch });
  const running = Array.from({ length: 8 }, (_, index) => find(`query ${index}`));
  await expect(find('one more')).rejects.toMatchObject({ code: 'busy' });
  answer();
  await Promise.all(running);
  expect(await find('one more')).toMatchObject({ pages: [] });
});

describe('webSearch: configured address', () => {
  const found = [listed('https://a.example/1'), listed('https://b.example/2')];
  const answers = JSON.stringify({
    query: 'lighthouse',
    results: found.map(({ url, title }) => ({ url, title, content: description })),
  });

  test('requests JSON of a SearXNG instance', async () => {
    const { port, asked } = await remote((_, response) => {
      response.setHeader('content-type', 'application/json').end(answers);
    });
    const web = webOf({ 'https://a.example/1': pageBody });
    const local = `http://127.0.0.1:${port}`;
    const { find } = searchWith({
      url: local,
      fetch: (target, options) => (target.startsWith(local) ? fetchRemote : web.fetch)(target, options),
    });
    const { pages } = await find('lighthouse');
    expect(pages.map(({ url, content }) => [url, content])).toEqual([
      ['https://a.example/1', `Before it. ${description} Behind it.`],
      ['https://b.example/2', ''],
    ]);
    expect(asked).toEqual(['/?q=lighthouse&format=json']);
  });

  test('reads the page if there is no JSON', async () => {
    const { port, asked } = await remote((request, response) => {
      if (request.url?.includes('format=json')) response.writeHead(403).end();
      else response.end(articlePage(found));
    });
    const web = webOf({});
    const local = `http://127.0.0.1:${port}/search?language=en`;
    const { find, warnings } = searchWith({
      url: local,
      fetch: (target, options) => (target.startsWith('http:') ? fetchRemote : web.fetch)(target, options),
    });
    expect((await find('lighthouse')).pages.map(({ url }) => url)).toEqual([
      'https://a.example/1',
      'https://b.example/2',
    ]);
    expect(asked).toEqual(['/search?language=en&q=lighthouse&format=json', '/search?language=en&q=lighthouse']);
    expect(warnings).toEqual([]);
  });

  test('may be private, its results may not', async () => {
    const secret = await remote((_, response) => response.end(pageBody));
    const hop = `http://127.0.0.1:${secret.port}/admin`;
    const { port } = await remote((_, response) => {
      response.end(JSON.stringify({ results: [{ url: hop, title: 'Inside', content: description }] }));
    });
    const { find } = searchWith({ url: `http://127.0.0.1:${port}/` });
    expect(await find('lighthouse')).toEqual({ pages: [{ title: 'Inside', url: hop, description, content: '' }] });
    expect(secret.asked).toEqual([]);
  });

  test('may redirect, but not to another private host', async () => {
    const secret = await remote((_, response) => response.end(answers));
    const { port } = await remote((_, response) => {
      response.writeHead(302, { location: `http://127.0.0.1:${secret.port}/` }).end();
    });
    const { find } = searchWith({ url: `http://127.0.0.1:${port}/` });
    expect(await find('lighthouse')).toMatchObject({
      pages: [],
      problem: `The search page http://127.0.0.1:${port} is not on the public internet.`,
    });
    expect(secret.asked).toEqual([]);
  });

  test('is requested once if it does not answer', async () => {
    const asked: string[] = [];
    const fetch = async (target: string): Promise<Fetched> => {
      asked.push(target);
      return { type: 'refused', reason: 'took longer than 30 seconds' };
    };
    const { find } = searchWith({ url: 'http://search.example/', fetch });
    expect((await find('x')).problem).toBe('The search page http://search.example took longer than 30 seconds.');
    expect(asked).toEqual(['http://search.example/?q=x&format=json']);
  });

  test('reports that it is unreachable', async () => {
    const { find } = searchWith({ url: 'http://127.0.0.1:9/' });
    expect(await find('lighthouse')).toMatchObject({
      problem: 'The search page http://127.0.0.1:9 could not be reached (connection refused).',
    });
  });
});

describe('plainQuery', () => {
  test.each([
    ['  red \n\t lighthouse ', 'red lighthouse'],
    ['', ''],
    [' \n ', ''],
    ['x'.repeat(600), 'x'.repeat(500)],
    ['é'.repeat(300), 'é'.repeat(250)],
    ['🦜'.repeat(126), '🦜'.repeat(125)],
  ])('%j is one line of at most 500 bytes', (text, expected) => {
    expect(plainQuery(text)).toBe(expected);
  });

  test('never splits a character, and is idempotent', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 600 }), (text) => {
        const query = plainQuery(text);
        expect(Buffer.byteLength(query)).toBeLessThanOrEqual(500);
        expect(plainQuery(query)).toBe(query);
      }),
    );
  });
});

describe('searchAddress', () => {
  const address = (template: string, asJson = false) => searchAddress(template, 'a & b$&/?', { asJson }).href;

  test('sets the parameter q beside existing ones', () => {
    expect(address('https://s.example/html/')).toBe('https://s.example/html/?q=a+%26+b%24%26%2F%3F');
    expect(address('https://s.example/?kl=de&q=x', true)).toBe(
      'https://s.example/?kl=de&q=a+%26+b%24%26%2F%3F&format=json',
    );
  });

  test('replaces %s', () => {
    expect(address('https://s.example/find/%s?x=%s')).toBe(
      'https://s.example/find/a%20%26%20b%24%26%2F%3F?x=a%20%26%20b%24%26%2F%3F',
    );
  });
});

describe('pageString', () => {
  const latin = Buffer.from([0x67, 0x72, 0xfc, 0x6e]);

  test.each<[string, Uint8Array, string | undefined, string]>([
    ['the header says', latin, 'text/html; charset=ISO-8859-1', 'grün'],
    [
      'the page says',
      Buffer.concat([Buffer.from('<meta charset="windows-1252">'), latin]),
      'text/html',
      '<meta charset="windows-1252">grün',
    ],
    ['nobody says', Buffer.from('grün'), undefined, 'grün'],
    ['nobody knows', Buffer.from('grün'), 'text/html; charset=klingon', 'grün'],
  ])('decodes %s', (_, bytes, type, text) => {
    expect(pageString(bytes, type)).toBe(text);
  });
});

describe('webSearch: page', () => {
  const page = (pages: Parameters<typeof webOf>[0], target: string) =>
    searchWith(webOf(pages)).search.page(target, never);

  test('returns text in UTF-8, whatever its encoding was', async () => {
    const latin = { contentType: 'text/html; charset=iso-8859-1', bytes: Buffer.from('Gr\xfc\xdfe', 'latin1') };
    const answer = await page({ 'https://a.example/': latin }, 'https://a.example/');
    if ('problem' in answer) throw new Error(answer.problem);
    expect([answer.contentType, Buffer.from(answer.bytes).toString()]).toEqual(['text/html', 'Grüße']);
  });

  test('returns other files as they are', async () => {
    const bytes = Buffer.from([0x25, 0x50, 0xff, 0]);
    expect(
      await page({ 'https://a.example/x.pdf': { contentType: 'application/pdf', bytes } }, 'https://a.example/x.pdf'),
    ).toEqual({
      contentType: 'application/pdf',
      bytes,
    });
  });

  test('gives the reason if it cannot be fetched', async () => {
    expect(await page({}, 'https://a.example/')).toEqual({
      problem: 'The address https://a.example/ answers with status 404.',
    });
  });

  test('never reaches this machine', async () => {
    const { port, asked } = await remote((_, response) => response.end('secret'));
    const { search } = searchWith({ url: `http://127.0.0.1:${port}/` });
    expect(await search.page(`http://127.0.0.1:${port}/`, never)).toEqual({
      problem: `The address http://127.0.0.1:${port}/ is not on the public internet.`,
    });
    expect(asked).toEqual([]);
  });
});

describe('webSearch: domains', () => {
  test('takes the first results of the allowed domains, and repeats no earlier answer', async () => {
    const urls = ['a', 'b', 'c', 'd'].map((host) => `https://${host}.example/`);
    const web = webOf({ [usual]: listPage(urls.map((url) => listed(url))) });
    const { search } = searchWith(web);
    await search.find('lighthouse', never);
    const { pages } = await search.find('lighthouse', never, ({ host }) => host === 'd.example');
    expect(pages.map(({ url }) => url)).toEqual(['https://d.example/']);
    expect((await search.find('lighthouse', never)).pages).toHaveLength(3);
  });
});

describe('webSearch: the text of a page', () => {
  const text = (pages: Parameters<typeof webOf>[0], target: string) =>
    searchWith(webOf(pages)).search.text(target, never);

  test('has the title and the visible text of HTML, and other text as it is', async () => {
    const html = '<html><head><title>A &amp; B</title></head><body><p>One</p><p>two</p></body></html>';
    expect(await text({ 'https://a.example/': html }, 'https://a.example/')).toEqual({
      url: 'https://a.example/',
      title: 'A & B',
      text: 'A & B One two',
    });
    const plain = { contentType: 'text/plain', bytes: Buffer.from('a <b>\n c') };
    expect(await text({ 'https://a.example/x': plain }, 'https://a.example/x')).toMatchObject({ text: 'a <b>\n c' });
  });

  test('reports files without text, missing pages and pages that are too large', async () => {
    const pdf = { contentType: 'application/pdf', bytes: Buffer.from('%PDF') };
    expect(await text({ 'https://a.example/': pdf }, 'https://a.example/')).toMatchObject({ cause: 'no-text' });
    expect(await text({}, 'https://a.example/')).toEqual({
      problem: 'The address https://a.example/ answers with status 404.',
      cause: 'unreachable',
    });
    const large = { type: 'refused', reason: 'is larger than 3 MB' } as const;
    expect(await text({ 'https://a.example/': large }, 'https://a.example/')).toMatchObject({ cause: 'too-large' });
  });

  test('is that of a document where these can be read', async () => {
    const bytes = Buffer.from('%PDF');
    const pages = { 'https://a.example/a%20plan.pdf?x': { contentType: 'application/pdf', bytes } };
    const read = (extract: WebSearchOptions['extract']) =>
      searchWith({ ...webOf(pages), ...(extract && { extract }) }).search.text(
        'https://a.example/a%20plan.pdf?x',
        never,
      );
    const asked: unknown[] = [];
    const document = async (name: string, sent: Uint8Array) => {
      asked.push([name, Buffer.from(sent).toString()]);
      return { title: 'The plan', text: 'Begin.', sections: [] };
    };
    expect(await read(document)).toEqual({
      url: 'https://a.example/a%20plan.pdf?x',
      title: 'The plan',
      text: 'Begin.',
    });
    expect(asked).toEqual([['a plan.pdf', '%PDF']]);
    const damaged = () =>
      Promise.reject(
        new AppError('document-unreadable', { name: 'a plan.pdf', reason: 'it is damaged', kind: 'invalid' }),
      );
    expect(await read(damaged)).toEqual({ problem: 'a plan.pdf cannot be read: it is damaged.', cause: 'no-text' });
    const long = { 'https://a.example/': { contentType: 'text/plain', bytes: Buffer.alloc(4 * 2 ** 20, 'a') } };
    const { search } = searchWith({ ...webOf(long), extract: document });
    expect(await search.text('https://a.example/', never)).toMatchObject({ cause: 'too-large' });
  });

  test('refuses private addresses, and redirects out of the allowed domains', async () => {
    const { port, asked } = await remote((request, response) =>
      request.url === '/' ? response.writeHead(302, { location: 'http://b.example/' }).end() : response.end('secret'),
    );
    const { search } = searchWith({});
    expect(await search.text(`http://127.0.0.1:${port}/`, never)).toMatchObject({ cause: 'unreachable' });
    expect(asked).toEqual([]);
    const fetch = (target: string, options: OutgoingOptions) =>
      fetchRemote(target, {
        ...options,
        resolve: async () => [{ address: '127.0.0.1', family: 4 }],
        // The address counts as a public one.
        allows: (_, url) => options.allows?.('93.184.215.14', url) ?? false,
      });
    const allowed = searchWith({ fetch }).search;
    expect(await allowed.text(`http://a.example:${port}/`, never, ({ hostname }) => hostname === 'a.example')).toEqual({
      problem: 'b.example is not one of the allowed domains.',
      cause: 'not-allowed',
    });
  });
});
