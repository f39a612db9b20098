import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  accessTable,
  fidelityTable,
  fillAgents,
  fillFields,
  fillMetrics,
  fillPaths,
  fillRecommended,
  pageOf,
} from '../../scripts/pages/tables.ts';
import type { EndpointFidelity } from '../../src/core/fidelity.ts';
import { fieldTables } from '../../src/protocols/fidelity/fidelity.ts';
import { builtApp } from '../../src/server/testing/built-app.ts';

const app = await builtApp();
const rules = accessTable(app);
const page = readFileSync(new URL('../../docs/security.md', import.meta.url), 'utf8');
const monitoring = readFileSync(new URL('../../docs/monitoring.md', import.meta.url), 'utf8');
const folder = new URL('../../docs/apis/', import.meta.url);

test.each(readdirSync(folder))('docs/apis/%s: the field tables equal those of the endpoints', (name) => {
  const text = readFileSync(new URL(name, folder), 'utf8');
  const endpoints = app.modelEndpoints.filter((endpoint) => `${pageOf(endpoint)}.md` === name);
  expect(text, 'run `npm run docs`').toBe(fillFields(text, fieldTables(endpoints)));
});

const endpoint: EndpointFidelity = {
  dialect: 'Some API',
  endpoint: 'POST /some',
  fields: [
    { field: 'a', handling: 'honoured' },
    { field: 'b', handling: 'approximated', note: 'x | y' },
  ],
};

test('fidelityTable: is a Markdown table', () => {
  expect(fidelityTable(endpoint)).toBe(
    [
      '### `POST /some`',
      '',
      '| Field | What becomes of it | Note |',
      '|---|---|---|',
      '| `a` | honoured |  |',
      '| `b` | approximated | x \\| y |',
      '',
    ].join('\n'),
  );
});

test('fillFields: replaces everything between the markers, and is idempotent', () => {
  const page = 'Before\n\n<!-- fields -->\nold\n<!-- /fields -->\n\nAfter\n';
  const filled = fillFields(page, [endpoint, endpoint]);
  expect(filled).toMatch(/^Before\n\n<!-- fields -->\n\n- \*\*honoured\*\*: /);
  expect(filled.match(/### `POST \/some`/g)).toHaveLength(2);
  expect(filled).toMatch(/\|\n\n<!-- \/fields -->\n\nAfter\n$/);
  expect(filled).not.toContain('old');
  expect(fillFields(filled, [endpoint, endpoint])).toBe(filled);
});

test('fillFields: throws without markers', () => {
  expect(() => fillFields('<!-- /fields --> <!-- fields -->', [])).toThrow('needs a line');
});

test('docs/security.md: its lists of paths are those of the endpoints', () => {
  expect(page, 'run `npm run docs`').toBe(fillPaths(page, rules));
});

test('fillPaths: names every path of the table', () => {
  const filled = fillPaths('<!-- paths -->\n<!-- /paths -->', rules);
  for (const key of rules.keys()) {
    const path = key.split(' ')[1] ?? '';
    expect(filled).toMatch(path.length > 1 && path.endsWith('/') ? `\`${path}…\`` : `\`${path}\``);
  }
});

test('fillPaths: throws without markers', () => {
  expect(() => fillPaths('<!-- /paths --> <!-- paths -->', rules)).toThrow('needs a line');
});

/** The lines "- `file`: title" of the threat model. */
const namedTests = [...page.matchAll(/^- `([^`]+\.test\.ts)`: (.+)$/gm)].map(([, file = '', title = '']) => ({
  file,
  title,
}));

/** The text below each heading of the third level, from the heading `title` to the next one of the second. */
function subsections(title: string): ReadonlyMap<string, string> {
  const section = page.split(`\n## ${title}\n`)[1]?.split('\n## ')[0] ?? '';
  return new Map(
    section
      .split(/^### /m)
      .slice(1)
      .map((text) => [text.split('\n')[0] ?? '', text]),
  );
}

test('docs/security.md: names tests for each attacker', () => {
  const attackers = subsections('Threat model');
  const tests = subsections('Tests of the threat model');
  expect(attackers.size).toBe(12);
  expect([...tests.keys()]).toEqual([...attackers.keys()]);
  for (const text of tests.values()) expect(text).toMatch(/^.+\n\n- `/);
  expect(namedTests.length).toBeGreaterThan(40);
});

test.each(namedTests)('docs/security.md: $file has the test "$title"', ({ file, title }) => {
  const path = new URL(`../../${file}`, import.meta.url);
  expect(existsSync(path)).toBe(true);
  expect(readFileSync(path, 'utf8')).toContain(title);
});

test('docs/security.md: names only files that exist', () => {
  const files = [...page.matchAll(/`((?:src|test)\/[\w./-]+)`/g)].map(([, path = '']) => path);
  expect(files.filter((path) => !existsSync(new URL(`../../${path}`, import.meta.url)))).toEqual([]);
});

test('docs/monitoring.md: has every metric, as `npm run docs` writes it', () => {
  expect(fillMetrics(monitoring)).toBe(monitoring);
  expect(monitoring).toContain('| `parley_time_to_first_token_seconds` | histogram | From the head of a request');
});

test('docs/monitoring.md: its examples name existing metrics only', () => {
  const [table = '', ...rest] = monitoring.split('<!-- /metrics -->');
  const known = new Set([...table.matchAll(/^\| `([\w:]+)`/gm)].map(([, name]) => name));
  const used = [
    ...rest
      .join('')
      .matchAll(/\b(?:parley|llamacpp:|process)_?[a-z_]+_(?:seconds|total|second|ready)(_bucket|_count|_sum)?\b/g),
  ];
  const names = used.map(([name, suffix = '']) => name.slice(0, name.length - suffix.length));
  expect(names.length).toBeGreaterThan(5);
  expect(names.filter((name) => !known.has(name))).toEqual([]);
});

test('docs/agents.md: has the agents of parley launch (npm run docs)', () => {
  const page = readFileSync(new URL('../../docs/agents.md', import.meta.url), 'utf8');
  expect(fillAgents(page)).toBe(page);
});

test('docs/models.md: has the recommended models (npm run docs)', () => {
  const models = readFileSync(new URL('../../docs/models.md', import.meta.url), 'utf8');
  expect(fillRecommended(models)).toBe(models);
});
