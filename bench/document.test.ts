import { expect, test } from 'vitest';
import { documented, figuresOf, speedSeries } from './document.ts';

const row = { bench: 'serve', what: '4 at once: speed', value: 90, unit: 'tokens/s', peer: { value: 80 } };

test('figures replace those that stood in their place, and nothing else', () => {
  const first = documented('# Page\n\nWords.\n', 'serve', 'old');
  expect(first).toBe('# Page\n\nWords.\n\n## Figures: serve\n\n<!-- serve: begin -->\nold\n<!-- serve: end -->\n');
  expect(documented(first, 'serve', 'new')).toBe(first.replace('old', 'new'));
  expect(documented(first, 'fair', 'x')).toContain('old');
});

test('the speeds of each server become a series', () => {
  const { peer: _, ...alone } = { ...row, what: '8 at once: speed', value: 95 };
  const rows = [row, alone];
  const others = [{ ...row, what: '4 at once: first token' }];
  expect(speedSeries([...rows, ...others])).toEqual([
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

test('figures say when, where and how busy the machine was', () => {
  const text = figuresOf([row], { date: '2030-01-02', machine: '2 cores', load: 0.25 });
  expect(text).toMatch(/^2030-01-02, 2 cores; load average 0\.3 at the beginning\.\n\n\| bench/);
});
