import { describe, expect, test } from 'vitest';
import { bestHits, type Hit, hitsOnPage, searxngHits } from './search-page.ts';
import { articlePage, listPage } from './testing/pages.ts';

const results = ['one', 'two', 'three', 'four'].map((word) => ({
  url: `https://${word}.example/page?a=1&b=${word}`,
  title: `Number ${word}`,
  description: `What is said of ${word}.`,
}));

const own = new URL('https://html.search.example/html/?q=x');
const onPage = (html: string) => [...hitsOnPage(html)].filter((hit): hit is Hit => hit !== undefined);

describe('hitsOnPage', () => {
  test.each([
    ['with titles of a class of their own', listPage],
    ['with links in headings', articlePage],
  ])('%s: finds the first three', (_, page) => {
    expect(bestHits(onPage(page(results)), own)).toEqual(results.slice(0, 3));
  });

  test('removes markup', () => {
    const marked = [
      { url: 'https://a.example/', title: '<b>Red</b> &amp; blue', description: 'A <b>red</b>\n one<br>or two' },
    ];
    for (const page of [listPage, articlePage]) {
      expect(bestHits(onPage(page(marked)), own)).toEqual([
        { url: 'https://a.example/', title: 'Red & blue', description: 'A red one or two' },
      ]);
    }
  });

  test('uses all text as description without a description element', () => {
    const html =
      '<h2><a href="https://a.example/">A</a></h2><p>First.</p><p>Second.</p><h2><a href="https://b.example/">B</a></h2>';
    expect(onPage(html)).toEqual([
      { url: 'https://a.example/', title: 'A', description: 'First. Second.' },
      { url: 'https://b.example/', title: 'B', description: '' },
    ]);
  });

  test('the description ends with its element, also if nested', () => {
    const html =
      '<h3><a href="https://a.example/">A</a></h3><div>noise</div><div class="snippet">in <div>deep</div> side</div><div>noise</div>';
    expect(onPage(html)[0]?.description).toBe('in deep side');
  });

  test('bounds the description', () => {
    const [hit] = onPage(
      `<h3><a href="https://a.example/">${'t'.repeat(9)}</a></h3><p class="content">${'word '.repeat(9999)}`,
    );
    expect(hit?.description.length).toBeLessThanOrEqual(500);
  });

  test.each([
    '',
    '<html>',
    'plain words',
    '<h2>No link</h2>',
    '<a href="https://a.example/">no title</a>',
    '</h2></h3>',
  ])('%j has none', (html) => {
    expect(onPage(html)).toEqual([]);
  });
});

describe('bestHits', () => {
  const hit = (url: string, title = 'T'): Hit => ({ url, title, description: '' });
  const urls = (hits: readonly Hit[]) => bestHits(hits, own).map(({ url }) => url);

  test('skips links to the search site', () => {
    const links = [
      '/settings',
      'https://html.search.example/x',
      'https://search.example/y.js?ad',
      'https://www.html.search.example/',
    ];
    expect(urls(links.map((url) => hit(url)))).toEqual([]);
    expect(urls([hit('https://notsearch.example/')])).toEqual(['https://notsearch.example/']);
  });

  test('unwraps redirects of the search site', () => {
    expect(urls([hit('//search.example/l/?uddg=https%3A%2F%2Fa.example%2F%3Fx%3D1&rut=2')])).toEqual([
      'https://a.example/?x=1',
    ]);
    expect(
      urls([hit('//search.example/l/?uddg=nonsense'), hit('//search.example/l/?uddg=https%3A%2F%2Fsearch.example')]),
    ).toEqual([]);
  });

  test('only http(s) addresses with a title, each once', () => {
    const links = [
      'javascript:alert(1)',
      'ftp://a.example/',
      'https://[bad',
      'mailto:a@a.example',
      'file:///etc/passwd',
    ];
    expect(urls(links.map((url) => hit(url)))).toEqual([]);
    expect(urls([hit('https://a.example'), hit('https://a.example/'), hit('https://b.example/', '')])).toEqual([
      'https://a.example/',
    ]);
  });
});

describe('searxngHits', () => {
  const bytes = (value: unknown) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));

  test('reads the list of results', () => {
    const sent = results.map(({ url, title, description }) => ({
      url,
      title,
      content: ` ${description}\n`,
      engine: 'x',
    }));
    expect(searxngHits(bytes({ query: 'x', results: sent }))).toEqual(results);
    expect(searxngHits(Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes({ results: [] })]))).toEqual([]);
  });

  test('skips entries with missing fields', () => {
    const odd = [null, 5, 'x', {}, { url: 5, title: 'a' }, { url: 'https://a.example/', title: 'A', content: null }];
    expect(searxngHits(bytes({ results: odd }))).toEqual([{ url: 'https://a.example/', title: 'A', description: '' }]);
  });

  test.each(['', '<html>', '[]', '{', '{"results": 5}', '{"error": "x"}', '{"a":'.repeat(5000)])(
    'is none: %.20s',
    (text) => {
      expect(searxngHits(bytes(text))).toBeUndefined();
    },
  );
});

describe('hitsOnPage: hostile pages', () => {
  const steps = (html: string) => [...hitsOnPage(html)].length;

  test('yields after long tags, texts and many short tags', () => {
    expect(steps(`<a ${'x=y '.repeat(1000)}>`.repeat(50))).toBe(50);
    expect(steps('&lt;'.repeat(50_000))).toBe(13);
    expect(steps('<p>'.repeat(10_000))).toBe(100);
  });

  test('stops after the limit of tags', () => {
    expect(steps('<p>'.repeat(400_000))).toBeLessThanOrEqual(2000);
  });
});
