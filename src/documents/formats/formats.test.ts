import { describe, expect, test } from 'vitest';
import { attributeOf, htmlPieces } from '../../search/html.ts';
import { zipOf } from '../testing/zip.ts';
import { htmlText } from './html.ts';
import { docxText, epubText, odtText } from './office.ts';
import { rtfText } from './rtf.ts';
import { readZip } from './zip.ts';

function run<Result>(work: Generator<void, Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}
const archive = async (files: Record<string, string>) => readZip(await zipOf(files));
const paragraph = (text: string, properties = ''): string =>
  `<w:p><w:pPr>${properties}</w:pPr><w:r><w:t xml:space="preserve">${text}</w:t></w:r></w:p>`;

describe('htmlPieces, for XML', () => {
  test('tags, texts, comments, quotes and stray brackets', () => {
    const pieces = [...htmlPieces('<?xml?><a x="1>2">5 < 6<!-- <b> --><br/></A><![CDATA[<c>]]>')];
    expect(pieces).toEqual([
      { type: 'open', name: 'a', inside: ' x="1>2"' },
      { type: 'text', text: '5 < 6' },
      { type: 'open', name: 'br', inside: '/' },
      { type: 'close', name: 'a' },
      { type: 'text', text: '<c>' },
    ]);
  });

  test.each(['<', '<a', '<a b="', '<!--', '<![CDATA[', '</', '<a '.repeat(2000), '<!'.repeat(2000)])(
    'ends for broken markup: %j',
    (markup) => {
      expect([...htmlPieces(markup)].length).toBeLessThan(3000);
    },
  );

  test('attributeOf and texts: entities', () => {
    expect(attributeOf(" w:val='A &amp; B' x=5", 'w:val')).toBe('A & B');
    expect(attributeOf(' x=5', 'x')).toBe('5');
    expect(attributeOf(' x=5', 'y')).toBeUndefined();
    const text = 'äää&unknown;\ufffd';
    expect([...htmlPieces('&#228;&#xe4;&auml;&unknown;&#9999999;')]).toEqual([{ type: 'text', text }]);
  });
});

test('docxText: headings, lists, tables, breaks; no deleted text and no copies for old programs', async () => {
  const body = [
    paragraph('Harbour', '<w:pStyle w:val="berschrift1"/>'),
    paragraph('Ships &amp; boats'),
    paragraph('one', '<w:numPr><w:ilvl w:val="0"/></w:numPr>'),
    '<w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:delText>gone</w:delText></w:r></w:p>',
    `<w:tbl><w:tr><w:tc>${paragraph('Name')}</w:tc><w:tc>${paragraph('Price')}${paragraph('in euros')}</w:tc></w:tr></w:tbl>`,
    '<mc:AlternateContent><mc:Choice><w:p><w:r><w:t>new</w:t></w:r></w:p></mc:Choice><mc:Fallback><w:p><w:r><w:t>old</w:t></w:r></w:p></mc:Fallback></mc:AlternateContent>',
  ].join('');
  const styles = '<w:styles><w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style></w:styles>';
  const entries = await archive({
    'word/document.xml': `<w:document><w:body>${body}</w:body></w:document>`,
    'word/styles.xml': styles,
  });
  expect((await docxText(entries, run)).text).toBe(
    '# Harbour\n\nShips & boats\n\n- one\n\na\tb\nc\n\nName | Price in euros\nnew',
  );
});

test('docxText: an archive that is no document is refused', async () => {
  await expect(docxText(await archive({ 'other.txt': 'x' }), run)).rejects.toThrow('no word/document.xml');
});

test('odtText: headings, lists, spaces, tables', async () => {
  const body =
    '<text:h text:outline-level="2">Ships</text:h><text:p>a<text:s text:c="3"/>b</text:p><text:list><text:list-item><text:p>one</text:p></text:list-item></text:list>' +
    '<table:table><table:table-row><table:table-cell><text:p>x</text:p></table:table-cell><table:table-cell><text:p>y</text:p></table:table-cell></table:table-row></table:table>';
  const entries = await archive({
    'content.xml': `<office:document-content><style>no</style><office:body>${body}</office:body></office:document-content>`,
  });
  expect((await odtText(entries, run)).text).toBe('## Ships\n\na   b\n\n- one\n\nx | y');
});

test('epubText: chapters in the order of the spine', async () => {
  const entries = await archive({
    'META-INF/container.xml': '<container><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>',
    'OPS/book.opf':
      '<package><manifest><item id="b" href="text/b%20b.xhtml"/><item id="a" href="a.xhtml"/></manifest><spine><itemref idref="a"/><itemref idref="b"/></spine></package>',
    'OPS/a.xhtml': '<html><head><title>T</title></head><body><h1>One</h1><p>First.</p></body></html>',
    'OPS/text/b b.xhtml': '<html><body><p>Second.</p></body></html>',
  });
  expect((await epubText(entries, run)).text).toBe('# One\n\nFirst.\n\nSecond.');
});

describe('htmlText', () => {
  test('headings, lists, tables and code; no scripts and menus', () => {
    const html =
      '<html><head><title> A  page </title><style>x{}</style></head><body><nav>Menu</nav><h2>Ships</h2><p>A <b>big</b>\n ship.<br>New line</p>' +
      '<ul><li>one<li>two</ul><table><tr><th>a<th>b</tr><tr><td>1</td><td>2</td></tr></table><pre>if x:\n  y</pre><script>no()</script></body></html>';
    expect(run(htmlText(html))).toMatchObject({
      title: 'A page',
      text: '## Ships\n\nA big ship.\nNew line\n\n- one\n- two\n\na | b\n1 | 2\n\nif x:\n  y',
    });
  });

  test('a long article counts instead of the page around it', () => {
    const html = `<body><div>Cookies!</div><article><p>${'Words. '.repeat(100)}</p></article><div>Related</div></body>`;
    expect(run(htmlText(html)).text).toBe('Words. '.repeat(100).trim());
  });
});

test('rtfText: text with Unicode, code pages, tabs and paragraphs', () => {
  const rtf =
    "{\\rtf1\\ansi{\\fonttbl{\\f0 Arial;}}{\\*\\generator X;}\\f0 Caf\\'e9 \\u8364?5\\par\n\\b bold\\b0 text\\tab x\\par}";
  expect(run(rtfText(rtf))).toBe('Café €5\nboldtext\tx');
});
