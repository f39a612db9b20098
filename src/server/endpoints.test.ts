import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { documentedPaths } from '../protocols/endpoint.ts';
import { fieldTables } from '../protocols/fidelity/fidelity.ts';
import { builtApp } from './testing/built-app.ts';

const source = fileURLToPath(new URL('..', import.meta.url));

/** Product files, but for the clients of other servers, which have the same paths. */
const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .map((name) => name.replaceAll('\\', '/'))
  .filter(
    (name) =>
      name.endsWith('.ts') &&
      !/\.test\.ts$|\/testing\/|^engines\/(?:remote|program)\/|^agents\/running-server/.test(name),
  );

test('endpoints: a path is named in one file', async () => {
  const { endpoints, modelEndpoints } = await builtApp();
  const shared = new Set(modelEndpoints.flatMap((endpoint) => endpoint.shared?.path ?? []));
  const rows = endpoints.filter(({ dialect, path }) => dialect.name !== 'pages' && !shared.has(path));
  const paths = new Set(rows.map(({ path }) => path));
  const naming = new Map<string, Set<string>>();
  for (const file of files) {
    const text = readFileSync(join(source, file), 'utf8');
    for (const [, path = ''] of text.matchAll(/'(?:(?:GET|POST|PUT|DELETE) )?(\/[^'\s,{]*)/g)) {
      if (paths.has(path)) naming.set(path, (naming.get(path) ?? new Set()).add(file));
    }
  }
  expect(naming.size).toBeGreaterThan(100);
  const several = [...naming].filter(([, names]) => names.size > 1);
  expect(several.map(([path, names]) => `${path}: ${[...names].join(', ')}`)).toEqual([]);
});

test('endpoints: every table that a row has is listed in the field tables', async () => {
  const { modelEndpoints } = await builtApp();
  const rows = modelEndpoints.filter((row) => {
    return row.aliasOf === undefined && documentedPaths(row).some(({ fields }) => fields !== undefined);
  });
  const headings = fieldTables(modelEndpoints).map(({ endpoint }) => endpoint);
  expect(rows.length).toBeGreaterThan(60);
  expect(rows.filter(({ path }) => !headings.some((heading) => heading.includes(path)))).toEqual([]);
});

test('endpoints: a field table that a handler of the native API reads is on a row', () => {
  const native = files.filter((file) => /^protocols\/native\//.test(file));
  const text = native.map((file) => readFileSync(join(source, file), 'utf8')).join('\n');
  const read = [...text.matchAll(/\b(?:readFields|readInput)\((?:call, )?(\w+Fields)\b/g)].map(([, name = '']) => name);
  expect(new Set(read).size).toBeGreaterThan(12);
  const isOnRow = (name: string) => new RegExp(`fields: ${name}\\b`).test(text);
  expect(read.filter((name) => !isOnRow(name))).toEqual([]);
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
