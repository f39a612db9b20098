import { describe, expect, test } from 'vitest';
import type { ExtractedDocument } from '../../core/documents.ts';
import { pdfOf } from '../testing/pdf.ts';
import { zipOf } from '../testing/zip.ts';
import { readDocument } from './read-document.ts';

const bytesOf = (text: string, encoding: BufferEncoding = 'utf8'): Uint8Array => Buffer.from(text, encoding);
const read = (name: string, content: string | Uint8Array) =>
  readDocument(name, typeof content === 'string' ? bytesOf(content) : content);
/** The path of headings and the text of each section. */
const outline = ({ text, sections }: ExtractedDocument) =>
  sections
    .map(({ start, end, headings }) => [headings.join(' > '), text.slice(start, end).trim()])
    .filter(([, part]) => part !== '');

describe('readDocument: plain text', () => {
  test.each([
    ['UTF-8 with a mark', Uint8Array.of(0xef, 0xbb, 0xbf, ...bytesOf('Köln €'))],
    ['UTF-16 with a mark', Uint8Array.of(0xff, 0xfe, ...bytesOf('Köln €', 'utf16le'))],
    ['UTF-16 without a mark', bytesOf('Köln and more words €', 'utf16le')],
    ['UTF-16, big-endian', Buffer.from(bytesOf('\ufeffKöln €', 'utf16le')).swap16()],
    ['Windows-1252', Uint8Array.of(...bytesOf('K', 'latin1'), 0xf6, ...bytesOf('ln '), 0x80)],
  ])('%s', async (_, bytes) => {
    const { text } = await read('a.txt', bytes);
    expect(text).toMatch(/^Köln.* ?€$/);
  });

  test.each([
    [
      'windows-1251',
      [0xcf, 0xf0, 0xe8, 0xe2, 0xe5, 0xf2, 0x2c, 0x20, 0xea, 0xe0, 0xea, 0x20, 0xe4, 0xe5, 0xeb, 0xe0, 0x3f],
      'Привет, как дела?',
    ],
    [
      'Shift_JIS',
      [0x82, 0xb1, 0x82, 0xf1, 0x82, 0xc9, 0x82, 0xbf, 0x82, 0xcd, 0x90, 0xa2, 0x8a, 0x45],
      'こんにちは世界',
    ],
  ])('%s is recognised', async (_, bytes, text) => {
    expect((await read('a.txt', Uint8Array.from(bytes))).text).toBe(text);
  });

  test('line ends become \\n, and lines keep their numbers', async () => {
    expect(await read('a.txt', 'one\r\ntwo\rthree')).toMatchObject({
      text: 'one\ntwo\nthree',
      hasLines: true,
      title: 'a.txt',
    });
  });
});

test('readDocument: Markdown, headings of both kinds, code and tables', async () => {
  const text =
    '---\ntitle: "A town"\n---\n# One\ntext\n\nTwo\n---\n```sh\n# no heading\n```\n| a | b |\n|---|---|\n| 1 | 2 |\n\n### Three\nend';
  const document = await read('a.md', text);
  expect(document.title).toBe('A town');
  expect(outline(document).slice(1)).toEqual([
    ['One', '# One\ntext'],
    ['One > Two', 'Two\n---'],
    ['One > Two', '```sh\n# no heading\n```'],
    ['One > Two', '| a | b |\n|---|---|\n| 1 | 2 |'],
    ['One > Two > Three', '### Three\nend'],
  ]);
  expect(document.sections.map(({ kind }) => kind)).toContain('table');
});

test('readDocument: program code, symbols with their comments', async () => {
  const text =
    'import x\n\n# Adds numbers.\n@cached\ndef add(a, b):\n    return a + b\n\nclass Ship:\n    def sail(self):\n        pass\n\nprint(add(1, 2))\n';
  expect(outline(await read('a.py', text))).toEqual([
    ['', 'import x'],
    ['add', '# Adds numbers.\n@cached\ndef add(a, b):\n    return a + b'],
    ['Ship', 'class Ship:'],
    ['Ship > sail', 'def sail(self):\n        pass'],
    ['', 'print(add(1, 2))'],
  ]);
  const script =
    'export const limit = 5;\n\nexport async function* load(path: string) {\n  if (path) {\n  }\n}\n\nclass A {\n  go(to) {\n  }\n}\n';
  expect(outline(await read('a.ts', script)).map(([path]) => path)).toEqual(['', 'load', 'A', 'A > go']);
});

test('readDocument: CSV, a row for each record, also with quotes and other separators', async () => {
  const document = await read('a.csv', 'name;price\n"ship; large";"5 ""euros"""\n"two\nlines";7\n');
  expect(document.text).toBe('name | price\nship; large | 5 "euros"\ntwo lines | 7');
  expect(document.sections).toMatchObject([{ kind: 'table' }]);
  expect(document.hasLines).toBeUndefined();
});

test('readDocument: JSON in one line is unfolded; its keys are headings', async () => {
  const value = { harbour: { ships: Array.from({ length: 100 }, (_, index) => `ship ${index}`) }, town: 'Köln' };
  const document = await read('a.json', JSON.stringify(value));
  expect(JSON.parse(document.text)).toEqual(value);
  expect(outline(document).map(([path]) => path)).toEqual(['', 'harbour', 'harbour > ships', 'town']);
  const deep = '['.repeat(100_000);
  expect((await read('deep.json', deep)).text).toBe(deep);
});

test('readDocument: subtitles, with times', async () => {
  const srt = '1\n00:00:01,000 --> 00:00:02,000\n<i>Hello</i>\nthere\n\n2\n00:01:05,500 --> 00:01:07,000\nBye\n';
  const vtt = 'WEBVTT\n\nNOTE x\n\n00:01.000 --> 00:02.000 align:start\nHello\nthere\n\n01:05.500 --> 01:07.000\nBye\n';
  for (const [name, text] of [
    ['a.srt', srt],
    ['a.vtt', vtt],
  ] as const) {
    expect(outline(await read(name, text))).toEqual([
      ['00:00:01', '[00:00:01] Hello there'],
      ['00:01:05', '[00:01:05] Bye'],
    ]);
  }
});

test('readDocument: e-mail, with its headers, the plain text of alternatives and the names of attachments', async () => {
  const mail = [
    'From: =?utf-8?Q?J=C3=B6rg?= <j@example.org>',
    'Subject: =?UTF-8?B?U2NoaWZmZQ==?= and',
    '  more',
    'Content-Type: multipart/mixed; boundary="x"',
    '',
    '--x',
    'Content-Type: multipart/alternative; boundary=y',
    '',
    '--y',
    'Content-Type: text/plain; charset=iso-8859-1',
    'Content-Transfer-Encoding: quoted-printable',
    '',
    'Sch=F6n =',
    'here.',
    '--y',
    'Content-Type: text/html',
    '',
    '<p>No</p>',
    '--y--',
    '--x',
    'Content-Type: application/pdf; name="a.pdf"',
    'Content-Disposition: attachment; filename="the plan.pdf"',
    '',
    'xxxx',
    '--x--',
  ].join('\r\n');
  const { title, text } = await read('a.eml', mail);
  expect(title).toBe('Schiffe and more');
  expect(text).toBe(
    'From: Jörg <j@example.org>\nSubject: Schiffe and more\n\nSchön here.\n\n[Attachment: the plan.pdf]',
  );
  const box = `From a@b Mon\n${mail}\n\nFrom c@d Tue\nFrom: c@d\nSubject: Two\n\n>From here\n`;
  expect(outline(await read('a.mbox', box)).map(([path]) => path)).toEqual(['Schiffe and more', 'Two']);
});

test('readDocument: a file named .eml is e-mail with any first header, other files only with a usual one', async () => {
  const mail = 'DKIM-Signature: v=1;\r\n b=AAAA\r\nFrom: a@b\r\nSubject: Plan\r\n\r\nThe text.\r\n';
  const shown = 'From: a@b\nSubject: Plan\n\nThe text.';
  expect(await read('a.eml', mail)).toMatchObject({ title: 'Plan', text: shown });
  expect((await read('a.EML', `Content-Type: text/plain\n${mail}`)).text).toBe(shown);
  expect((await read('a.eml', `\u{feff}${mail}`)).text).toBe(shown);
  expect((await read('draft.eml', 'X-Unsent: 1\nSubject: Plan\n\nThe text.')).text).toBe('Subject: Plan\n\nThe text.');
  expect((await read('a', mail)).text).toContain('DKIM-Signature');
  expect((await read('notes.eml', 'no header here: text')).text).toBe('no header here: text');
});

test('readDocument: HTML and RTF, also below other names', async () => {
  const html = '<!doctype html><title>Ships</title><h1>One</h1><p>text</p><pre>a  b</pre><h2>Two</h2>end';
  const document = await read('page.txt', html);
  expect(document.title).toBe('Ships');
  expect(outline(document)).toEqual([
    ['One', '# One\n\ntext'],
    ['One', 'a  b'],
    ['One > Two', '## Two\n\nend'],
  ]);
  expect((await read('a.doc', "{\\rtf1\\ansi\\ansicpg1251 \\'cf\\par}")).text).toBe('П');
});

describe('readDocument: archives', () => {
  test('docx, odt and epub below any name', async () => {
    const docx = {
      'word/document.xml':
        '<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:t>One</w:t></w:p><w:p><w:t>text</w:t></w:p>',
    };
    expect(outline(await read('a.bin', await zipOf(docx)))).toEqual([['One', '# One\n\ntext']]);
    const odt = {
      'content.xml': '<office:body><text:h text:outline-level="1">One</text:h><text:p>text</text:p></office:body>',
    };
    expect(outline(await read('a.odt', await zipOf(odt)))).toEqual([['One', '# One\n\ntext']]);
    const epub = {
      'META-INF/container.xml': '<rootfile full-path="book.opf"/>',
      'book.opf':
        '<dc:title>A &amp; B</dc:title><item id="a" href="a.xhtml"/><item id="b" href="b.xhtml"/><itemref idref="a"/><itemref idref="b"/><itemref idref="a"/>',
      'a.xhtml': '<h1>One</h1><p>first</p>',
      'b.xhtml': '<p>second</p>',
    };
    const book = await read('a.epub', await zipOf(epub));
    expect(book.title).toBe('A & B');
    expect(outline(book)).toEqual([
      ['One', '# One\n\nfirst'],
      ['', 'second'],
    ]);
  });

  test.each([
    ['a zip bomb', { 'word/document.xml': '<w:p/>' }, 'too large when it is unpacked', 80 * 1_048_576],
    ['a spreadsheet', { 'xl/workbook.xml': '<x/>' }, 'a spreadsheet, which is not supported: save it as .csv or PDF'],
    ['a presentation', { 'ppt/presentation.xml': '<x/>' }, 'a presentation, which is not supported: save it as PDF'],
    ['another archive', { 'a.txt': 'x' }, 'an archive and no document'],
    ['an empty document', { 'word/document.xml': '<w:p/>' }, 'it has no text'],
  ])('%s is refused', async (_, files, reason, claim?: number) => {
    const archive = await zipOf(files as Record<string, string>, claim === undefined ? {} : { claim });
    await expect(read('a.docx', archive)).rejects.toMatchObject({
      code: 'document-unreadable',
      details: { reason: expect.stringContaining(reason) },
    });
  });

  test('a truncated one is damaged', async () => {
    const archive = await zipOf({ 'word/document.xml': '<w:p><w:t>text</w:t></w:p>' });
    await expect(read('a.docx', archive.subarray(0, 60))).rejects.toThrow('a.docx cannot be read: it is damaged.');
  });
});

describe('readDocument: PDF', () => {
  test('text by pages, lines in larger letters are headings', async () => {
    const document = await read(
      'a.pdf',
      pdfOf([
        [
          [24, 'The harbour'],
          [10, 'Ships lie there and wait for the tide.'],
        ],
        [[10, 'Second page of text.']],
      ]),
    );
    expect(document).toMatchObject({ pages: 2 });
    expect(document.text).toBe('The harbour\n\nShips lie there and wait for the tide.\n\nSecond page of text.');
    expect(document.sections).toMatchObject([{ page: 1, headings: ['The harbour'] }, { page: 2 }]);
  });

  test('pages without text are refused as a scan', async () => {
    let pages = 0;
    const progressed = () => {
      pages += 1;
    };
    await readDocument('a.pdf', pdfOf([[[10, 'One']], [[10, 'Two']], []]), progressed);
    expect(pages).toBe(3);
    await expect(read('a.pdf', pdfOf([[], []]))).rejects.toThrow('it has no text: its pages are pictures');
  });

  test('a truncated one gives its text or a sentence', async () => {
    const whole = pdfOf([[[10, 'Some text']]]);
    for (const length of [10, 100, 300, whole.length - 30]) {
      const outcome = await read('a.pdf', whole.subarray(0, length)).catch((error: unknown) => error);
      if (outcome instanceof Error) expect(outcome).toMatchObject({ code: 'document-unreadable' });
    }
  });
});

test.each([
  ['a.doc', Uint8Array.of(0xd0, 0xcf, 0x11, 0xe0, 0), 'an old Office program'],
  ['a.bin', Uint8Array.of(1, 0, 2, 0, 3), 'its format is not known'],
  ['a.txt', new Uint8Array(), 'it is empty'],
  ['a.txt', bytesOf(' \n '), 'it has no text'],
])('readDocument: %s is refused with the reason', async (name, bytes, reason) => {
  await expect(read(name, bytes)).rejects.toMatchObject({
    code: 'document-unreadable',
    status: 422,
    details: { name, kind: 'unsupported', reason: expect.stringContaining(reason) },
  });
});

test('readDocument: entities that name each other are not resolved', async () => {
  const bomb = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><w:p><w:t>&b;&b; text</w:t></w:p>';
  expect((await read('a.docx', await zipOf({ 'word/document.xml': bomb }))).text).toBe('&b;&b; text');
});
