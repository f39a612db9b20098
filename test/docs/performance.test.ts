import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type Figures, figuresFile, fillFigures, fillSummary, speedPlot } from '../../bench/document.ts';

const read = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8');
const file = read('bench/figures.json');
const figures: Figures = JSON.parse(file);
const page = read('docs/figures.md');
const performance = read('docs/performance.md');

test('docs/performance.md: has the figures that matter most and the goals that are missed (`npm run docs`)', () => {
  expect(fillSummary(performance, figures)).toBe(performance);
  const cells = Object.values(figures).flatMap(({ rows }) => rows.flat());
  expect(performance.split('<!-- /missed -->')[0]?.match(/^\| .* \| [≤≥] .* \|$/gm)).toHaveLength(
    cells.filter((cell) => cell === 'missed').length,
  );
});

test('docs/figures.md: has the figures of bench/figures.json, as `npm run docs` writes them', () => {
  expect(fillFigures(page, figures)).toBe(page);
  const markers = [...page.matchAll(/^<!-- ([\w-]+) -->$/gm)].map(([, name]) => name);
  expect(markers.toSorted()).toEqual(Object.keys(figures).toSorted());
});

test('docs/performance.svg: has the speeds of bench/figures.json', () => {
  expect(figures.serve && speedPlot(figures.serve)).toBe(read('docs/performance.svg'));
});

test('bench/figures.json: has a cell for each column, and is written as a bench writes it', () => {
  for (const { columns, rows } of Object.values(figures)) {
    expect(new Set(rows.map((row) => row.length))).toEqual(new Set([columns.length]));
  }
  expect(figuresFile(figures)).toBe(file);
});
