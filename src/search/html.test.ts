import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { attributeOf, type HtmlPiece, htmlPieces } from './html.ts';

/** Each piece as a short word: `text`, `<name inside>`, `</name>`. */
const cut = (html: string) => [...htmlPieces(html)].map(shown);

function shown(piece: HtmlPiece): string {
  if (piece.type === 'text') return piece.text;
  return piece.type === 'open' ? `<${piece.name}${piece.inside}>` : `</${piece.name}>`;
}

describe('htmlPieces', () => {
  test.each<[string, string, readonly string[]]>([
    ['nothing', '', []],
    ['text alone', 'a b', ['a b']],
    ['tags of any case', '<P>a</p >', ['<p>', 'a', '</p>']],
    ['attributes', '<a href="x" b>', ['<a href="x" b>']],
    ['a bracket in a quoted value', '<a title="a > b" c=\'>\'>d', ['<a title="a > b" c=\'>\'>', 'd']],
    ['a quote that is none', "<p class=it's>a</p>", ["<p class=it's>", 'a', '</p>']],
    ['tags that close themselves', 'a<br/>b', ['a', '<br/>', 'b']],
    ['comments', 'a<!-- <b> -- > -->c', ['a', 'c']],
    ['declarations', '<!DOCTYPE html><?xml a?>b', ['b']],
    ['a comparison', 'a < b <3', ['a < b <3']],
    ['scripts', 'a<script>if (x < y) "<p>"</script>b', ['a', '<script>', '</script>', 'b']],
    ['styles in capitals', '<STYLE>p{}</STYLE >b', ['<style>', '</style>', 'b']],
    ['entities', '&lt;b&gt; &amp;amp; &#65;&#x1F99C; &nope; &#0;&#xD800;', ['<b> &amp; A🦜 &nope; \ufffd\ufffd']],
  ])('splits a page with %s', (_, html, pieces) => {
    expect(cut(html)).toEqual(pieces);
  });

  test.each<[string, string, readonly string[]]>([
    ['a comment', 'a<!-- b', ['a']],
    ['a script', 'a<script>b', ['a', '<script>']],
    ['a tag', 'a<p class', ['a']],
    ['a closing tag', 'a</', ['a']],
    ['a bracket', 'a<', ['a<']],
  ])('reads up to the end if %s has no end', (_, html, pieces) => {
    expect(cut(html)).toEqual(pieces);
  });

  test('ignores quotes after one without an end', () => {
    expect(cut('<p title="a>b</p><i>c</i>')).toEqual(['<p title="a>', 'b', '</p>', '<i>', 'c', '</i>']);
  });
});

describe('attributeOf', () => {
  test.each<[string, string | undefined]>([
    [' href="x y"', 'x y'],
    [" HREF = 'x'", 'x'],
    [' href=x/y?z=1', 'x/y?z=1'],
    [' href', ''],
    [' href="a&amp;b"', 'a&b'],
    [' data-href="no" href="yes"', 'yes'],
    [' title="href=no" href=yes', 'yes'],
    [' hreflang="en"', undefined],
    ['', undefined],
  ])('reads %j', (inside, value) => {
    expect(attributeOf(inside, 'href')).toBe(value);
  });
});

test('htmlPieces: ends for any page; plain text is unchanged', () => {
  const scraps = [
    '<',
    '>',
    '</',
    '<a',
    ' href=',
    '"',
    "'",
    '<!--',
    '-->',
    '<script',
    '</script>',
    '&',
    '#1;',
    'x',
    ' ',
  ];
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.constantFrom(...scraps), fc.string())), (parts) => {
      const length = [...htmlPieces(parts.join(''))].length;
      expect(length).toBeLessThanOrEqual(parts.join('').length);
    }),
  );
  fc.assert(
    fc.property(fc.string(), (text) => {
      const plain = text.replace(/[<&]/g, '');
      expect(cut(plain).join('')).toBe(plain);
    }),
  );
});

/** A time that grows with the square would take minutes for each of these, and the test would not end. */
test.each(['<', '<a ', '<a "', '<a b="', '<!--', '<script', '<script>', '</', '&', '&#', '<a b=\'<a c="', '<p/'])(
  'three hundred thousand times %j are no trouble',
  (scrap) => {
    let pieces = 0;
    for (const piece of htmlPieces(scrap.repeat(300_000))) pieces += piece.type === 'text' ? 0 : 1;
    expect(pieces).toBeLessThanOrEqual(300_000);
  },
);

test('attributeOf: a very long tag is fast', () => {
  for (const scrap of ['a="', 'a=\' b="', 'a ', '= ', 'a=b']) {
    expect(attributeOf(scrap.repeat(1_000_000), 'href')).toBeUndefined();
  }
});

describe('htmlPieces: hostile pages', () => {
  const rest = (html: string) => [...htmlPieces(html)];

  test('a run of brackets is text in bounded pieces', () => {
    const pieces = rest('<'.repeat(100_000));
    expect(pieces.length).toBe(7);
    expect(pieces.map((piece) => (piece.type === 'text' ? piece.text : '')).join('')).toBe('<'.repeat(100_000));
  });

  test('does not cut text inside an entity', () => {
    for (let before = 16_370; before < 16_390; before += 1) {
      const text = rest(`${'x'.repeat(before)}&hellip;${'y'.repeat(40_000)}`)
        .map(shown)
        .join('');
      expect(text).toBe(`${'x'.repeat(before)}…${'y'.repeat(40_000)}`);
    }
    expect(rest('&'.repeat(40_000)).map(shown).join('')).toBe('&'.repeat(40_000));
  });

  test('yields between comments and declarations', () => {
    expect(rest('<!---->'.repeat(5000))).toHaveLength(10);
    expect(rest('<!x>'.repeat(5000))).toHaveLength(10);
  });
});
