import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyCharacter } from '../core/testing/any-character.ts';
import { exposition, Histogram, NumberMetric } from './prometheus.ts';

const newCounter = () => new NumberMetric('some_figure', 'What it is.', 'counter');
const newGauge = () => new NumberMetric('some_figure', 'What it is.', 'gauge');
const newHistogram = (bounds: readonly number[]) => new Histogram('some_figure', 'What it is.', bounds);
const lines = (metric: NumberMetric | Histogram) => metric.text().split('\n').slice(2, -1);

describe('text', () => {
  test('writes HELP and TYPE before the samples', () => {
    const counter = newCounter();
    counter.inc({}, 2);
    expect(counter.text()).toBe('# HELP some_figure What it is.\n# TYPE some_figure counter\nsome_figure 2\n');
  });

  test('has no samples before there are values', () => {
    expect(newGauge().text()).toBe('# HELP some_figure What it is.\n# TYPE some_figure gauge\n');
    expect(lines(newHistogram([1]))).toEqual([]);
  });

  test('one line per set of labels, in order of first use', () => {
    const counter = newCounter();
    counter.inc({ model: 'b', outcome: 'stop' });
    counter.inc({ model: 'a', outcome: 'stop' });
    counter.inc({ model: 'b', outcome: 'stop' }, 4);
    expect(lines(counter)).toEqual([
      'some_figure{model="b",outcome="stop"} 5',
      'some_figure{model="a",outcome="stop"} 1',
    ]);
  });

  test('escapes line breaks, quotes and backslashes', () => {
    const gauge = new NumberMetric('g', 'one\ntwo \\ three', 'gauge');
    gauge.set({ model: 'a "b"\\\nc' }, 0.5);
    expect(gauge.text()).toBe('# HELP g one\\ntwo \\\\ three\n# TYPE g gauge\ng{model="a \\"b\\"\\\\\\nc"} 0.5\n');
  });

  test('exposition: separates metrics by an empty line', () => {
    const [one, two] = [new NumberMetric('a', 'A.', 'gauge'), new NumberMetric('b', 'B.', 'gauge')];
    one.set({}, 1);
    expect(exposition([one, two])).toBe('# HELP a A.\n# TYPE a gauge\na 1\n\n# HELP b B.\n# TYPE b gauge\n');
  });

  test('label values can be parsed back', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), fc.integer(), (model, value) => {
        const gauge = newGauge();
        gauge.set({ model }, value);
        const [, label = '', number] = /^some_figure\{model="((?:[^"\\\n]|\\[n"\\])*)"\} (-?\d+)$/.exec(
          lines(gauge).join('\n'),
        ) ?? ['', undefined, undefined];
        const read = label.replace(/\\([n"\\])/g, (_, sign: string) => (sign === 'n' ? '\n' : sign));
        expect([read, Number(number)]).toEqual([model, value]);
      }),
    );
  });
});

describe('counter', () => {
  test('adds up per set of labels', () => {
    const step = fc.record({ model: fc.constantFrom('a', 'b'), amount: fc.nat(1000) });
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const counter = newCounter();
        for (const { model, amount } of steps) counter.inc({ model }, amount);
        for (const wanted of ['a', 'b']) {
          const own = steps.filter(({ model }) => model === wanted);
          const sum = own.reduce((total, { amount }) => total + amount, 0);
          const expected = own.length > 0 ? [`some_figure{model="${wanted}"} ${sum}`] : [];
          expect(lines(counter).filter((line) => line.includes(`"${wanted}"`))).toEqual(expected);
        }
      }),
    );
  });

  test('inc by 0 makes it visible', () => {
    const counter = newCounter();
    counter.inc({ model: 'a' }, 0);
    expect(lines(counter)).toEqual(['some_figure{model="a"} 0']);
  });
});

describe('gauge', () => {
  test('set: the last value wins', () => {
    const gauge = newGauge();
    gauge.set({}, 5);
    gauge.set({}, 0.25);
    expect(lines(gauge)).toEqual(['some_figure 0.25']);
  });

  test('inc: adds to the current value, or to 0', () => {
    const gauge = newGauge();
    gauge.inc({}, 2);
    gauge.inc({}, -1);
    expect(lines(gauge)).toEqual(['some_figure 1']);
    gauge.set({}, 7);
    gauge.inc({}, 1);
    expect(lines(gauge)).toEqual(['some_figure 8']);
  });

  test('reset: removes all sets of labels', () => {
    const gauge = newGauge();
    gauge.set({ model: 'a' }, 1);
    gauge.reset();
    gauge.set({ model: 'b' }, 1);
    expect(lines(gauge)).toEqual(['some_figure{model="b"} 1']);
  });
});

describe('histogram', () => {
  test('buckets are cumulative', () => {
    const histogram = newHistogram([0.5, 1]);
    for (const value of [0.25, 0.5, 0.75, 8]) histogram.observe({ model: 'a' }, value);
    expect(lines(histogram)).toEqual([
      'some_figure_bucket{le="0.5",model="a"} 2',
      'some_figure_bucket{le="1",model="a"} 3',
      'some_figure_bucket{le="+Inf",model="a"} 4',
      'some_figure_sum{model="a"} 9.5',
      'some_figure_count{model="a"} 4',
    ]);
  });

  test('zero: makes it visible and keeps what was observed', () => {
    const histogram = newHistogram([1]);
    histogram.zero({});
    const empty = ['some_figure_bucket{le="1"} 0', 'some_figure_bucket{le="+Inf"} 0', 'some_figure_sum 0'];
    expect(lines(histogram)).toEqual([...empty, 'some_figure_count 0']);
    histogram.observe({}, 1);
    histogram.zero({});
    expect(lines(histogram)).toContain('some_figure_count 1');
  });

  test('bucket counts equal a direct count, for any values', () => {
    const bounds = [0, 1, 5, 10];
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -3, max: 14 })), (values) => {
        const histogram = newHistogram(bounds);
        histogram.zero({});
        for (const value of values) histogram.observe({}, value);
        const below = (bound: number) => values.filter((value) => value <= bound).length;
        expect(lines(histogram)).toEqual([
          ...bounds.map((bound) => `some_figure_bucket{le="${bound}"} ${below(bound)}`),
          `some_figure_bucket{le="+Inf"} ${values.length}`,
          `some_figure_sum ${values.reduce((sum, value) => sum + value, 0)}`,
          `some_figure_count ${values.length}`,
        ]);
      }),
    );
  });
});
