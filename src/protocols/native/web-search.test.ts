import { expect, test } from 'vitest';
import type { SearchAnswer, WebSearch } from '../../core/web-search.ts';
import { callOf } from '../testing/doubles.ts';
import { webSearchEndpoint } from './routes.ts';

/** Notes what was asked, and knows one answer. */
function searchOf(answer: SearchAnswer) {
  const asked: string[] = [];
  const search: WebSearch = {
    find: async (query) => {
      asked.push(query);
      return answer;
    },
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
