import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Counter, exposition, Gauge, Histogram } from './figures.ts';

const facts = { name: 'some_figure', help: 'What it is.' };
const lines = (figure: Counter | Gauge | Histogram) => figure.text().split('\n').slice(2, -1);

describe('the text of a figure', () => {
  test('says what it is before its numbers', () => {
    const counter = new Counter(facts);
    counter.increase({}, 2);
    expect(counter.text()).toBe('# HELP some_figure What it is.\n# TYPE some_figure counter\nsome_figure 2\n');
  });

  test('has no numbers before there are any', () => {
    expect(new Gauge(facts).text()).toBe('# HELP some_figure What it is.\n# TYPE some_figure gauge\n');
    expect(lines(new Histogram(facts, [1]))).toEqual([]);
  });

  test('has one line for each set of labels, in the order in which they came', () => {
    const counter = new Counter(facts);
    counter.increase({ model: 'b', outcome: 'stop' });
    counter.increase({ model: 'a', outcome: 'stop' });
    counter.increase({ model: 'b', outcome: 'stop' }, 4);
    expect(lines(counter)).toEqual([
      'some_figure{model="b",outcome="stop"} 5',
      'some_figure{model="a",outcome="stop"} 1',
    ]);
  });

  test('is kept on its line by what stands in it, whatever that is', () => {
    const gauge = new Gauge({ name: 'g', help: 'one\ntwo \\ three' });
    gauge.set({ model: 'a "b"\\\nc' }, 0.5);
    expect(gauge.text()).toBe('# HELP g one\\ntwo \\\\ three\n# TYPE g gauge\ng{model="a \\"b\\"\\\\\\nc"} 0.5\n');
  });

  test('of several has an empty line between each two', () => {
    const [one, two] = [new Gauge({ name: 'a', help: 'A.' }), new Gauge({ name: 'b', help: 'B.' })];
    one.set({}, 1);
    expect(exposition([one, two])).toBe('# HELP a A.\n# TYPE a gauge\na 1\n\n# HELP b B.\n# TYPE b gauge\n');
  });

  test('can be read back to the name of any model', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.integer(), (model, value) => {
        const gauge = new Gauge(facts);
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

describe('a counter', () => {
  test('is the sum of what was added, for each set of labels by itself', () => {
    const step = fc.record({ model: fc.constantFrom('a', 'b'), amount: fc.nat(1000) });
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const counter = new Counter(facts);
        for (const { model, amount } of steps) counter.increase({ model }, amount);
        for (const wanted of ['a', 'b']) {
          const own = steps.filter(({ model }) => model === wanted);
          const sum = own.reduce((total, { amount }) => total + amount, 0);
          const expected = own.length > 0 ? [`some_figure{model="${wanted}"} ${sum}`] : [];
          expect(lines(counter).filter((line) => line.includes(`"${wanted}"`))).toEqual(expected);
        }
      }),
    );
  });

  test('is there with 0 once somebody said so', () => {
    const counter = new Counter(facts);
    counter.increase({ model: 'a' }, 0);
    expect(lines(counter)).toEqual(['some_figure{model="a"} 0']);
  });
});

describe('a gauge', () => {
  test('is what it was set to last', () => {
    const gauge = new Gauge(facts);
    gauge.set({}, 5);
    gauge.set({}, 0.25);
    expect(lines(gauge)).toEqual(['some_figure 0.25']);
  });

  test('goes up and down from where it is, or from 0', () => {
    const gauge = new Gauge(facts);
    gauge.change({}, 2);
    gauge.change({}, -1);
    expect(lines(gauge)).toEqual(['some_figure 1']);
    gauge.set({}, 7);
    gauge.change({}, 1);
    expect(lines(gauge)).toEqual(['some_figure 8']);
  });

  test('is nothing any more once it was forgotten', () => {
    const gauge = new Gauge(facts);
    gauge.set({ model: 'a' }, 1);
    gauge.forget();
    gauge.set({ model: 'b' }, 1);
    expect(lines(gauge)).toEqual(['some_figure{model="b"} 1']);
  });
});

describe('a histogram', () => {
  test('counts in each bucket all that are no larger than its bound', () => {
    const histogram = new Histogram(facts, [0.5, 1]);
    for (const value of [0.25, 0.5, 0.75, 8]) histogram.observe({ model: 'a' }, value);
    expect(lines(histogram)).toEqual([
      'some_figure_bucket{le="0.5",model="a"} 2',
      'some_figure_bucket{le="1",model="a"} 3',
      'some_figure_bucket{le="+Inf",model="a"} 4',
      'some_figure_sum{model="a"} 9.5',
      'some_figure_count{model="a"} 4',
    ]);
  });

  test('is there with nothing in it once somebody said so, and loses nothing by being said again', () => {
    const histogram = new Histogram(facts, [1]);
    histogram.begin({});
    const empty = ['some_figure_bucket{le="1"} 0', 'some_figure_bucket{le="+Inf"} 0', 'some_figure_sum 0'];
    expect(lines(histogram)).toEqual([...empty, 'some_figure_count 0']);
    histogram.observe({}, 1);
    histogram.begin({});
    expect(lines(histogram)).toContain('some_figure_count 1');
  });

  test('agrees with a count by hand, whatever is observed', () => {
    const bounds = [0, 1, 5, 10];
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -3, max: 14 })), (values) => {
        const histogram = new Histogram(facts, bounds);
        histogram.begin({});
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
