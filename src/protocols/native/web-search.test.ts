import { expect, test } from 'vitest';
import type { SearchAnswer, WebSearch } from '../../core/web-search.ts';
import { callOf } from '../testing/doubles.ts';
import { webPageEndpoint, webSearchEndpoint } from './routes.ts';

/** Notes what was asked, and knows one answer. */
function searchOf(answer: SearchAnswer) {
  const asked: string[] = [];
  const search: WebSearch = {
    find: async (query) => {
      asked.push(query);
      return answer;
    },
    text: async () => ({ problem: 'unused', cause: 'unreachable' as const }),
    page: async (url) =>
      url.startsWith('https:')
        ? { contentType: 'text/plain', bytes: new TextEncoder().encode('Grüße') }
        : { problem: `The address ${url} is not on the public internet.` },
  };
  return { search, asked };
}

async function ask(search: WebSearch | undefined, body: unknown) {
  const reply = await webSearchEndpoint(search).handle(callOf('/api/extra/websearch', body), undefined);
  if (!('body' in reply)) throw new Error('no whole reply');
  return { status: reply.status, body: JSON.parse(String(reply.body)), note: reply.headers?.['x-parley-notes'] };
}

const page = { title: 'T', url: 'https://a.example/', description: 'D', content: 'C' };

test('websearch: results have title, url, desc and content', async () => {
  const { search, asked } = searchOf({ pages: [page] });
  expect(await ask(search, { q: ' red lighthouse ' })).toEqual({
    status: 200,
    body: [{ title: 'T', url: 'https://a.example/', desc: 'D', content: 'C' }],
    note: undefined,
  });
  expect(asked).toEqual([' red lighthouse ']);
});

test.each<unknown>(['', '{', '[]', {}, { q: 5 }, { q: null }, { query: 'x' }])(
  'websearch: refuses %j with an empty list',
  async (body) => {
    const { search, asked } = searchOf({ pages: [page] });
    expect(await ask(search, body)).toEqual({ status: 400, body: [], note: undefined });
    expect(asked).toEqual([]);
  },
);

test('websearch: an empty list with the reason in a header if the search failed', async () => {
  const { search } = searchOf({ pages: [], problem: 'The search page is away.' });
  expect(await ask(search, { q: 'x' })).toEqual({ status: 200, body: [], note: expect.stringContaining('is away') });
});

test('websearch: empty without --websearch', async () => {
  expect(await ask(undefined, { q: 'x' })).toMatchObject({ status: 200, body: [] });
  expect(await ask(undefined, '{')).toMatchObject({ status: 200, body: [] });
});

test('websearch: is not queued', () => {
  expect(webSearchEndpoint(undefined)).toMatchObject({ method: 'POST', queued: false });
});

async function fetched(search: WebSearch | undefined, body: unknown) {
  const reply = await webPageEndpoint(search).handle(callOf('/api/extra/webpage', body), undefined);
  if (!('body' in reply)) throw new Error('no whole reply');
  return JSON.parse(String(reply.body));
}

test('webpage: the type and the bytes in base64', async () => {
  const { search } = searchOf({ pages: [] });
  expect(await fetched(search, { url: 'https://a.example/' })).toEqual({
    success: true,
    url: 'https://a.example/',
    content_type: 'text/plain',
    data: Buffer.from('Grüße').toString('base64'),
  });
});

test('webpage: the reason if the page cannot be fetched', async () => {
  const { search } = searchOf({ pages: [] });
  expect(await fetched(search, { url: 'http://localhost/' })).toEqual({
    success: false,
    error: expect.stringContaining('not on the public internet'),
  });
});

test('webpage: refused without an address, and without --websearch', async () => {
  const { search } = searchOf({ pages: [] });
  await expect(fetched(search, {})).rejects.toThrow('url');
  await expect(fetched(undefined, { url: 'https://a.example/' })).rejects.toThrow('--websearch');
});
