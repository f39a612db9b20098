import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { builtApp } from './testing/built-app.ts';

const source = fileURLToPath(new URL('..', import.meta.url));

/** Product files, but for the client of other servers, which have the same paths. */
const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .map((name) => name.replaceAll('\\', '/'))
  .filter((name) => name.endsWith('.ts') && !/\.test\.ts$|\/testing\/|^engines\/remote\//.test(name));

/** The folder of a dialect, or the file. */
const dialectOf = (file: string): string => /^(protocols\/\w+|inspector)\//.exec(file)?.[1] ?? file;

test('endpoints: a path is named in the folder of its dialect alone', async () => {
  const { endpoints, modelEndpoints } = await builtApp();
  const shared = new Set(modelEndpoints.flatMap((endpoint) => endpoint.shared?.path ?? []));
  const rows = endpoints.filter(({ family, path }) => family.name !== 'pages' && !shared.has(path));
  const paths = new Set(rows.map(({ path }) => path));
  const dialects = new Map<string, Set<string>>();
  for (const file of files) {
    const text = readFileSync(join(source, file), 'utf8');
    for (const [, path = ''] of text.matchAll(/'(?:(?:GET|POST|PUT|DELETE) )?(\/[^'\s,{]*)/g)) {
      if (paths.has(path)) dialects.set(path, (dialects.get(path) ?? new Set()).add(dialectOf(file)));
    }
  }
  expect(dialects.size).toBeGreaterThan(100);
  const several = [...dialects].filter(([, names]) => names.size > 1);
  expect(several.map(([path, names]) => `${path}: ${[...names].join(', ')}`)).toEqual([]);
});

test('endpoints: the path of a row with a field table is not repeated beside the table', async () => {
  const { modelEndpoints } = await builtApp();
  const paths = new Set(modelEndpoints.filter(({ fields }) => fields).map(({ path }) => path));
  expect(paths.size).toBeGreaterThan(20);
  const tables = files.filter((file) => file.endsWith('fields.ts'));
  const repeated = tables.flatMap((file) => {
    const named = readFileSync(join(source, file), 'utf8').matchAll(/'(?:GET|POST|PUT|DELETE) (\/[^'\s,{]*)/g);
    return [...named].map(([, path = '']) => path).filter((path) => paths.has(path));
  });
  expect(repeated).toEqual([]);
});

test('docs/contributing.md: "Add a dialect" names the files that import the dialect of its example', () => {
  const guide = readFileSync(new URL('../../docs/contributing.md', import.meta.url), 'utf8');
  const section = guide.split(/^## /m).find((part) => part.startsWith('Add a dialect')) ?? '';
  const named = [...section.matchAll(/`src\/(server\/[\w-]+\.ts)`/g)].map(([, file]) => file);
  const importing = files.filter((file) => {
    const outside = !file.startsWith('protocols/messages/');
    return outside && readFileSync(join(source, file), 'utf8').includes('/protocols/messages/');
  });
  expect([...new Set(named)].sort()).toEqual(importing.sort());
});
