import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { fillMetrics } from './metrics-table.ts';

const page = readFileSync(new URL('../../docs/monitoring.md', import.meta.url), 'utf8');

test('docs/monitoring.md: has every metric, as `npm run docs` writes it', () => {
  expect(fillMetrics(page)).toBe(page);
  expect(page).toContain('| `parley_time_to_first_token_seconds` | histogram | From the head of a request');
});

test('docs/monitoring.md: its examples name existing metrics only', () => {
  const [table = '', ...rest] = page.split('<!-- /metrics -->');
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
