import { describe, expect, test } from 'vitest';
import { footnoteLabels } from './footnotes.ts';
import { htmlOf } from './syntax.ts';

const formulas = (markdown: string): [tex: string, display: boolean][] =>
  [...htmlOf(markdown).matchAll(/data-tex="([^"]*)"( data-display)?/g)].map(([, tex = '', whole]) => [
    tex,
    whole !== undefined,
  ]);

describe('htmlOf: formulas', () => {
  test.each([
    ['$x^2$', [['x^2', false]]],
    ['\\(x^2\\)', [['x^2', false]]],
    ['$$\nx^2\n$$', [['x^2', true]]],
    ['\\[\nx^2\n\\]', [['x^2', true]]],
    ['so $$x^2$$ it is', [['x^2', true]]],
    [
      'So\n$$x$$\nand $y$.',
      [
        ['x', true],
        ['y', false],
      ],
    ],
    [
      '$a$ and $b$',
      [
        ['a', false],
        ['b', false],
      ],
    ],
    ['$\\$5$', [['\\$5', false]]],
  ])('%j has %j', (markdown, found) => {
    expect(formulas(markdown)).toEqual(found);
  });

  test.each(['It costs $5 and $6.', 'From $5 to $10', '`$x$`', '```\n$$x$$\n```', '$ x $', 'a $ b'])(
    '%j has none',
    (markdown) => {
      expect(formulas(markdown)).toEqual([]);
    },
  );

  test('are escaped in their attribute', () => {
    expect(htmlOf('$"><script>$')).not.toContain('<script');
  });
});

describe('htmlOf: tags', () => {
  test.each(['a<br>b', 'H<sub>2</sub>O', '<kbd>Enter</kbd>'])('that do no harm stay: %s', (markdown) => {
    expect(htmlOf(markdown)).toContain(markdown);
  });

  test.each([
    '<script>alert(1)</script>',
    '<img src=x onerror=alert(1)>',
    '<p style="color:red">x</p>',
    '<div>x</div>',
    '<b onclick=x>y</b>',
  ])('that could are shown as text: %s', (markdown) => {
    expect(htmlOf(markdown)).not.toMatch(/<(script|img|div|p style|b onclick)/);
    expect(htmlOf(markdown)).toContain('&#60;');
  });

  test('renders remote images as links', () => {
    expect(htmlOf('![a cat](https://example.com/cat.png)')).toContain(
      '<a href="https://example.com/cat.png">a cat</a>',
    );
    expect(htmlOf('![dot](data:image/png;base64,AA==)')).toContain('<img src="data:image/png;base64,AA==" alt="dot">');
  });
});

test('htmlOf: keeps line breaks', () => {
  expect(htmlOf('one\ntwo')).toContain('one<br>two');
});

describe('htmlOf: footnotes', () => {
  test('become references and a text of their own', () => {
    const html = htmlOf('Wet.[^1]\n\n[^1]: See the *book*,\n    page 3.\n[^long-name]: More.');
    expect(html).toContain('<sup class="footnote-reference" data-note="1">');
    expect(html).toContain('<p class="footnote" data-note="1">See the <em>book</em>,<br>page 3.</p>');
    expect(html).toContain('<p class="footnote" data-note="long-name">More.</p>');
  });

  test('are not found in code', () => {
    expect(htmlOf('`[^1]`\n\n```\n[^1]: x\n```')).not.toContain('data-note');
  });

  test('are escaped', () => {
    expect(htmlOf('[^"><script>]\n\n[^"><script>]: <img src=x onerror=alert(1)>')).not.toMatch(/<(script|img)/);
  });

  test('footnoteLabels: returns those that the text defines', () => {
    expect(footnoteLabels('a[^1] b[^2]\n\n[^1]: x\n  [^b]: y')).toEqual(['1', 'b']);
    expect(footnoteLabels('no notes')).toEqual([]);
  });
});

describe('htmlOf: speech', () => {
  const spoken = (markdown: string) =>
    [...htmlOf(markdown, { speech: true }).matchAll(/<span class="speech">(.*?)<\/span>/g)].map(([, text]) => text);

  test.each([
    ['"Hello," she said. "Bye."', ['&quot;Hello,&quot;', '&quot;Bye.&quot;']],
    ['“Oh *no*.”', ['“Oh <em>no</em>.”']],
    ['„Gut“, sagt sie.', ['„Gut“']],
    ['「はい」', ['「はい」']],
    ['*She says "hi".*', ['&quot;hi&quot;']],
    ['A 5" nail and a 6" nail', []],
    ['`"code"`', []],
    ['"one line\n\nanother"', []],
  ])('%j has %j', (markdown, found) => {
    expect(spoken(markdown)).toEqual(found);
  });

  test('is plain text in other chats, and never markup', () => {
    expect(htmlOf('"Hello"')).not.toContain('speech');
    expect(htmlOf('"<img src=x onerror=alert(1)>"', { speech: true })).not.toContain('<img');
  });
});
