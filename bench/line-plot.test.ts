import { expect, test } from 'vitest';
import { linePlot, ticksUpTo } from './line-plot.ts';

test('ticks are round and reach past the highest value', () => {
  expect(ticksUpTo(94)).toEqual([0, 20, 40, 60, 80, 100]);
  expect(ticksUpTo(730)).toEqual([0, 100, 200, 300, 400, 500, 600, 700, 800]);
  expect(ticksUpTo(1.2)).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1, 1.2]);
  expect(ticksUpTo(0)).toEqual([0, 1]);
});

const titles = { title: 'a < b', xTitle: 'streams', yTitle: 'tokens/s' };

test('a plot has a line for each series and a point for each value, in equal steps', () => {
  const svg = linePlot(
    [
      {
        name: 'one',
        points: [
          [1, 50],
          [2, 100],
          [4, 0],
        ],
      },
      { name: 'other', points: [[1, 10]] },
    ],
    titles,
  );
  expect(svg.match(/<polyline/g)).toHaveLength(2);
  expect(svg.match(/<circle/g)).toHaveLength(4);
  expect(svg).toContain('points="157.3,176 344,40 530.7,312"');
  expect(svg).toContain('a &lt; b');
});

test('linePlot: no series gives a valid image', () => {
  expect(linePlot([], titles)).toMatch(/^<svg [\s\S]*<\/svg>\n$/);
});
