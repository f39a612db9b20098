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

describe('the results of a page', () => {
  test.each([
    ['with titles of a class of their own', listPage],
    ['with links in headings', articlePage],
  ])('%s are its first three', (_, page) => {
    expect(bestHits(onPage(page(results)), own)).toEqual(results.slice(0, 3));
  });

  test('are read without the marks in them', () => {
    const marked = [
      { url: 'https://a.example/', title: '<b>Red</b> &amp; blue', description: 'A <b>red</b>\n one<br>or two' },
    ];
    for (const page of [listPage, articlePage]) {
      expect(bestHits(onPage(page(marked)), own)).toEqual([
        { url: 'https://a.example/', title: 'Red & blue', description: 'A red one or two' },
      ]);
    }
  });

  test('have all that follows for a description where nothing says what it is', () => {
    const html =
      '<h2><a href="https://a.example/">A</a></h2><p>First.</p><p>Second.</p><h2><a href="https://b.example/">B</a></h2>';
    expect(onPage(html)).toEqual([
      { url: 'https://a.example/', title: 'A', description: 'First. Second.' },
      { url: 'https://b.example/', title: 'B', description: '' },
    ]);
  });

  test('have a description that ends with its element, however many are nested in it', () => {
    const html =
      '<h3><a href="https://a.example/">A</a></h3><div>noise</div><div class="snippet">in <div>deep</div> side</div><div>noise</div>';
    expect(onPage(html)[0]?.description).toBe('in deep side');
  });

  test('have a description of bounded length', () => {
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
  ])('of %j are none', (html) => {
    expect(onPage(html)).toEqual([]);
  });
});

describe('of the links on a page', () => {
  const hit = (url: string, title = 'T'): Hit => ({ url, title, description: '' });
  const urls = (hits: readonly Hit[]) => bestHits(hits, own).map(({ url }) => url);

  test('those that lead back to the search site are none', () => {
    const links = [
      '/settings',
      'https://html.search.example/x',
      'https://search.example/y.js?ad',
      'https://www.html.search.example/',
    ];
    expect(urls(links.map((url) => hit(url)))).toEqual([]);
    expect(urls([hit('https://notsearch.example/')])).toEqual(['https://notsearch.example/']);
  });

  test('those that lead over the search site are taken for where they lead', () => {
    expect(urls([hit('//search.example/l/?uddg=https%3A%2F%2Fa.example%2F%3Fx%3D1&rut=2')])).toEqual([
      'https://a.example/?x=1',
    ]);
    expect(
      urls([hit('//search.example/l/?uddg=nonsense'), hit('//search.example/l/?uddg=https%3A%2F%2Fsearch.example')]),
    ).toEqual([]);
  });

  test('only addresses of the web count, each once and with a title', () => {
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

describe('an answer in JSON', () => {
  const bytes = (value: unknown) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));

  test('has its results in a list', () => {
    const sent = results.map(({ url, title, description }) => ({
      url,
      title,
      content: ` ${description}\n`,
      engine: 'x',
    }));
    expect(searxngHits(bytes({ query: 'x', results: sent }))).toEqual(results);
    expect(searxngHits(Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes({ results: [] })]))).toEqual([]);
  });

  test('may lack what we know, entry by entry', () => {
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

describe('hitsOnPage: pages made to take long', () => {
  const steps = (html: string) => [...hitsOnPage(html)].length;

  test('lets others in after long tags, texts and many short tags', () => {
    expect(steps(`<a ${'x=y '.repeat(1000)}>`.repeat(50))).toBe(50);
    expect(steps('&lt;'.repeat(50_000))).toBe(13);
    expect(steps('<p>'.repeat(10_000))).toBe(100);
  });

  test('stops after more tags than a search page has', () => {
    expect(steps('<p>'.repeat(400_000))).toBeLessThanOrEqual(2000);
  });
});
