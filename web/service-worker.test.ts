import { expect, test } from 'vitest';
import { type BuiltFile, keptFiles } from './service-worker.ts';

const chunk = (name: string, more: Partial<BuiltFile> = {}): BuiltFile => ({
  type: 'chunk',
  fileName: `assets/${name}.js`,
  name,
  code: '',
  ...more,
});
const css = new Set(['assets/View.css']);
const built: readonly BuiltFile[] = [
  chunk('index', {
    isEntry: true,
    imports: ['assets/shared.js'],
    dynamicImports: ['assets/View.js', 'assets/diagrams.js', 'assets/de.js'],
  }),
  chunk('api', { isEntry: true, imports: ['assets/shared.js'] }),
  chunk('shared'),
  chunk('View', { viteMetadata: { importedCss: css } }),
  chunk('diagrams', { code: 'x'.repeat(500_000) }),
  chunk('de', { facadeModuleId: '/web/src/languages/de.ts' }),
  { type: 'asset', fileName: 'assets/View.css' },
  { type: 'asset', fileName: 'assets/inter-latin-wght-normal-1.woff2' },
  { type: 'asset', fileName: 'assets/inter-greek-wght-normal-1.woff2' },
  { type: 'asset', fileName: 'index.html' },
];

test('keptFiles: what the views of the start page need is kept ahead', () => {
  const { entry, shell } = keptFiles(built);
  expect(entry).toBe('index.js');
  expect(shell).toEqual(
    expect.arrayContaining(['./', 'theme.js', 'assets/index.js', 'assets/shared.js', 'assets/View.js', ...css]),
  );
  expect(shell).toContain('assets/inter-latin-wght-normal-1.woff2');
});

test('keptFiles: large libraries, languages, other alphabets and other pages are kept once they were used', () => {
  expect(keptFiles(built).files).toEqual([
    'assets/api.js',
    'assets/de.js',
    'assets/diagrams.js',
    'assets/inter-greek-wght-normal-1.woff2',
  ]);
});

test('keptFiles: a build without the start page is refused', () => {
  expect(() => keptFiles([])).toThrow('no entry');
});
