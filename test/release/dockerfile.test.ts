import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { dockerIgnores, readDockerfile } from './dockerfile.ts';

test('readDockerfile: reads stages, options, continued lines and comments', () => {
  const text = [
    '# An image.',
    'FROM debian:trixie AS first',
    'RUN one \\',
    '    && two',
    '',
    'FROM first',
    'COPY --from=first /a /b',
  ].join('\n');
  expect(readDockerfile(text)).toEqual([
    {
      name: 'first',
      base: 'debian:trixie',
      steps: [{ instruction: 'RUN', options: {}, text: 'one      && two' }],
    },
    { name: 'stage 1', base: 'first', steps: [{ instruction: 'COPY', options: { from: 'first' }, text: '/a /b' }] },
  ]);
});

test('dockerIgnores: the last pattern that matches a path or a folder of it decides', () => {
  const ignores = dockerIgnores('# No comment.\n.git\n**/node_modules\n**/*.log\ntest/*\n!test/package.json\n');
  const left = ['.git/HEAD', 'node_modules/a', 'web/node_modules/a', 'a/b.log', 'test/a.ts', 'test/live/a.ts'];
  expect(left.filter((path) => !ignores(path))).toEqual([]);
  expect(['.github', 'src/main.ts', 'test', 'test/package.json', 'modules'].filter(ignores)).toEqual([]);
});

test('.dockerignore: leaves out what git ignores', () => {
  const read = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8');
  const ignores = dockerIgnores(read('.dockerignore'));
  const paths = read('.gitignore').trim().split('\n');
  expect(paths.map((path) => path.replace(/^\/|\/$/g, '').replace('*', 'x')).filter((path) => !ignores(path))).toEqual(
    [],
  );
});
