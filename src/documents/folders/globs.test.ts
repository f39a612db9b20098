import fc from 'fast-check';
import { expect, test } from 'vitest';
import { matchesGlob } from './globs.ts';

test.each([
  ['*.md', 'a.md', true],
  ['*.md', 'deep/er/a.md', true],
  ['*.md', 'a.mdx', false],
  ['docs/*.md', 'docs/a.md', true],
  ['docs/*.md', 'docs/deep/a.md', false],
  ['docs/**', 'docs/deep/a.md', true],
  ['docs/', 'docs/deep/a.md', true],
  ['docs/**/*.md', 'docs/a.md', true],
  ['./docs/*.md', 'docs/a.md', true],
  ['**/drafts/**', 'a/drafts/b/c.txt', true],
  ['**/drafts/**', 'a/draft/b/c.txt', false],
  ['*.{md,txt}', 'a.txt', true],
  ['*.{md,txt}', 'a.pdf', false],
  ['report-?.pdf', 'report-1.pdf', true],
  ['a.b', 'axb', false],
  ['[a].md', 'a.md', false],
])('glob %s: %s matches: %s', (glob, path, expected) => {
  expect(matchesGlob(glob, path)).toBe(expected);
});

test('glob: any text is a glob, and a name without wildcards matches itself', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 60 }), fc.stringMatching(/^[a-z]{1,8}(\/[a-z]{1,8}){0,3}$/), (glob, path) => {
      expect(typeof matchesGlob(glob, path)).toBe('boolean');
      expect(matchesGlob(path, path)).toBe(true);
      expect(matchesGlob('**', path)).toBe(true);
    }),
  );
});

test('glob: many wildcards take no time that explodes', () => {
  expect(matchesGlob(`${'*a'.repeat(50)}b`, 'a'.repeat(250))).toBe(false);
  expect(matchesGlob('**/a/'.repeat(50), 'b/'.repeat(1000))).toBe(false);
  expect(matchesGlob('{a,b}'.repeat(40), 'a'.repeat(40))).toBe(false);
});
