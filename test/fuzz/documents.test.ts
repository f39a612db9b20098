import fc from 'fast-check';
import { expect, test } from 'vitest';
import { whole } from '../../src/core/slices.ts';
import { readDocument } from '../../src/documents/formats/read-document.ts';
import { passagesOf } from '../../src/documents/passages.ts';
import { pdfOf } from '../../src/documents/testing/pdf.ts';
import { zipOf } from '../../src/documents/testing/zip.ts';
import { damaged, damages } from './damage.ts';
import { timeout, tryAll } from './try-all.ts';

const bytes = (text: string): Uint8Array => Buffer.from(text);

/** A small file of each format. */
async function samples(): Promise<Readonly<Record<string, Uint8Array>>> {
  const page =
    '<html><head><title>T</title></head><body><h1>One</h1><table><tr><td>a<td>b</table><pre>x\n  y</pre></body></html>';
  const word =
    '<w:document><w:body><w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>One</w:t></w:r></w:p><w:tbl><w:tr><w:tc><w:p><w:r><w:t>a &amp; b</w:t></w:r></w:p></w:tc></w:tr></w:tbl></w:body></w:document>';
  const mail =
    'From: a@example.org\nSubject: =?utf-8?B?U2NoaWZmZQ==?=\nContent-Type: multipart/mixed; boundary="x"\n\n--x\nContent-Transfer-Encoding: quoted-printable\n\nSch=C3=B6n =\nhere\n--x\nContent-Disposition: attachment; filename="a.bin"\n\nAAAA\n--x--\n';
  return {
    'a.docx': await zipOf({ 'word/document.xml': word, 'word/styles.xml': '<w:style w:styleId="x"/>' }),
    'stored.docx': await zipOf({ 'word/document.xml': word }, { stored: true }),
    'a.odt': await zipOf({
      'content.xml': '<office:body><text:h>One</text:h><text:p>a<text:s text:c="3"/></text:p></office:body>',
    }),
    'a.epub': await zipOf({
      'META-INF/container.xml': '<rootfile full-path="b.opf"/>',
      'b.opf': '<dc:title>T</dc:title><item id="a" href="a.xhtml"/><itemref idref="a"/>',
      'a.xhtml': page,
    }),
    'a.pdf': pdfOf([
      [
        [24, 'One'],
        [10, 'Some text of the page.'],
      ],
      [[10, 'More']],
    ]),
    'a.rtf': bytes("{\\rtf1\\ansi{\\fonttbl{\\f0 Arial;}}\\f0 Caf\\'e9 \\u8364?5\\par text\\tab x}"),
    'a.html': bytes(page),
    'a.md': bytes(
      '---\ntitle: T\n---\n# One\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```js\nx\n```\n\nTwo\n---\n- a\n- b\n',
    ),
    'a.csv': bytes('name,price\n"a, b","1 ""x"""\nc,2\n'),
    'a.json': bytes(JSON.stringify({ a: [1, { b: 'c' }], d: 'x'.repeat(300) })),
    'a.srt': bytes('1\n00:00:01,000 --> 00:00:02,000\n<i>Hello</i>\n\n2\n00:01:05,500 --> 00:01:07,000\nBye\n'),
    'a.vtt': bytes('WEBVTT\n\n00:01.000 --> 00:02.000\nHello\n'),
    'a.eml': bytes(mail),
    'a.mbox': bytes(`From a Mon\n${mail}\n\nFrom b Tue\n${mail}`),
    'a.py': bytes('import x\n\n@y\ndef add(a, b):\n    return a\n\nclass B:\n    def c(self):\n        pass\n'),
    'a.txt': Buffer.from('K\u00f6ln and more', 'latin1'),
  };
}

test('documents: a damaged file gives its text in passages or a reason', { timeout }, async () => {
  const files = await samples();
  const name = fc.constantFrom(...Object.keys(files));
  await tryAll(
    'documents',
    fc.tuple(name, name, damages, fc.integer({ min: 20, max: 2000 })),
    async ([content, called, all, head]) => {
      const file = damaged(files[content] as Uint8Array, all, head);
      // One in two is called like another format.
      const document = await readDocument(head % 2 === 0 ? content : called, file).catch((error: unknown) => {
        expect(error).toMatchObject({ code: 'document-unreadable', message: expect.stringMatching(/^a|^stored/) });
      });
      if (!document) return;
      const { text, sections } = document;
      let end = 0;
      for (const section of sections) {
        expect(section.start).toBe(end);
        expect(section.end).toBeGreaterThan(section.start);
        end = section.end;
      }
      expect(end).toBe(text.length);
      let covered = 0;
      for (const passage of whole(passagesOf(document))) {
        expect(text.slice(covered, Math.max(covered, passage.start)).trim()).toBe('');
        expect(passage.end).toBeGreaterThan(passage.start);
        covered = Math.max(covered, passage.end);
      }
      expect(text.slice(covered).trim()).toBe('');
    },
  );
});
