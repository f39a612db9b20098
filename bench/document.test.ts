import { expect, test } from 'vitest';
import { figuresFile, figureTable, fillFigures, speedSeries } from './document.ts';

const facts = { title: 'Speed', machine: '2 cores; load average 0.3', date: '2030-01-02', command: 'npm run bench' };
const row = { bench: 'serve', what: '4 at once: speed', value: 90, unit: 'tokens/s', peer: { value: 80 } };
const { peer: _, ...alone } = { ...row, what: '8 at once: speed', value: 95 };
const table = figureTable([row, alone, { ...row, what: '4 at once: first token' }], facts);

test('fillFigures: replaces the text between the markers, and nothing else', () => {
  const page = '# Page\n\n<!-- serve -->\nold\n<!-- /serve -->\n\nWords.\n';
  const filled = fillFigures(page, { serve: table });
  expect(filled).toMatch(
    /^# Page\n\n<!-- serve -->\n\n\*\*Speed\.\*\* 2030-01-02, 2 cores; load average 0\.3; `npm run bench`\./,
  );
  expect(filled).toMatch(/\n\n<!-- \/serve -->\n\nWords\.\n$/);
  expect(filled).not.toContain('old');
  expect(fillFigures(filled, { serve: table })).toBe(filled);
});

test('fillFigures: adds a section for a table without markers', () => {
  const filled = fillFigures('# Page\n', { fair: { ...table, command: 'by hand' } });
  expect(filled).toMatch(/^# Page\n\n### fair\n\n<!-- fair -->\n\n\*\*Speed\.\*\* .*; by hand\.\n\n\| what /);
});

test('figuresFile: can be parsed, and has one row on each line', () => {
  const text = figuresFile({ serve: table, fair: table });
  expect(JSON.parse(text)).toEqual({ serve: table, fair: table });
  expect(text).toContain('\n      ["8 at once: speed", "95.0 tokens/s", "", "", "", ""],\n');
});

test('speedSeries: has the speeds of each server', () => {
  expect(speedSeries(table)).toEqual([
    {
      name: 'Parley',
      points: [
        [4, 90],
        [8, 95],
      ],
    },
    { name: 'peer', points: [[4, 80]] },
  ]);
});
