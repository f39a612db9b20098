import { expect, test } from 'vitest';
import type { OtlpSpan } from './otlp.ts';
import { exportLimits, SpanExporter } from './span-exporter.ts';

const span = { name: 'one' } as OtlpSpan;
const spans = (count: number): OtlpSpan[] => Array.from({ length: count }, () => span);

/** A collector whose answers the test gives, and timers that it runs. */
function world() {
  const said: string[] = [];
  const bodies: string[] = [];
  const timers = new Set<{ readonly milliseconds: number; readonly passed: () => void }>();
  let answer: () => Promise<number> = async () => 200;
  const exporter = new SpanExporter({
    resource: { service: 'parley', version: '1' },
    collector: 'http://collector',
    log: (line) => said.push(line),
    post: (body) => {
      bodies.push(body);
      return answer();
    },
    startTimer: (milliseconds, passed) => {
      const timer = { milliseconds, passed };
      timers.add(timer);
      return { cancel: () => void timers.delete(timer) };
    },
  });
  /** Runs all timers, and what follows of them. */
  const pass = async (): Promise<void> => {
    for (const timer of [...timers]) {
      timers.delete(timer);
      timer.passed();
    }
    await new Promise((resolve) => setImmediate(resolve));
  };
  const delays = () => [...timers].map(({ milliseconds }) => milliseconds);
  const answers = (next: () => Promise<number>): void => {
    answer = next;
  };
  const sizes = () => bodies.map((body) => JSON.parse(body).resourceSpans[0].scopeSpans[0].spans.length);
  return { exporter, said, pass, delays, answers, sizes, bodies };
}

const refusing = async (): Promise<number> => {
  throw new Error('connection refused');
};

test('span exporter: spans of some seconds are sent together', async () => {
  const { exporter, pass, delays, sizes, bodies } = world();
  exporter.add(spans(2));
  exporter.add(spans(3));
  expect(delays()).toEqual([exportLimits.collectMs]);
  await pass();
  expect(sizes()).toEqual([5]);
  expect(JSON.parse(bodies[0] ?? '').resourceSpans[0].resource.attributes).toEqual([
    { key: 'service.name', value: { stringValue: 'parley' } },
    { key: 'service.version', value: { stringValue: '1' } },
  ]);
  expect(exporter.counts).toEqual({ sent: 5, dropped: 0 });
  expect(delays()).toEqual([]);
});

test('span exporter: many spans are sent in several batches', async () => {
  const { exporter, pass, sizes } = world();
  exporter.add(spans(exportLimits.batch + 1));
  await pass();
  expect(sizes()).toEqual([exportLimits.batch, 1]);
});

test('span exporter: while the collector is away spans are kept up to a limit, and two lines log so', async () => {
  const { exporter, pass, delays, answers, said } = world();
  answers(refusing);
  exporter.add(spans(exportLimits.waiting + 10));
  await pass();
  await pass();
  expect(delays()).toEqual([4 * exportLimits.collectMs]);
  expect(said).toEqual([
    'Traces cannot be sent to http://collector (--trace): connection refused. Requests go on without them.',
  ]);
  expect(exporter.counts).toEqual({ sent: 0, dropped: 10 });
  answers(async () => 200);
  await pass();
  expect(said.slice(1)).toEqual(['Traces are sent to http://collector again; 10 spans were lost.']);
  expect(exporter.counts).toEqual({ sent: exportLimits.waiting, dropped: 10 });
});

test('span exporter: pauses after failures are limited', async () => {
  const { exporter, pass, delays, answers } = world();
  answers(async () => 503);
  exporter.add(spans(1));
  for (let time = 0; time < 20; time += 1) await pass();
  expect(delays()).toEqual([exportLimits.pauseMs]);
});

test('span exporter: what the collector refuses for good is dropped, and said once', async () => {
  const { exporter, pass, answers, said, delays } = world();
  answers(async () => 400);
  exporter.add(spans(2));
  await pass();
  exporter.add(spans(1));
  await pass();
  expect(exporter.counts).toEqual({ sent: 0, dropped: 3 });
  expect(said).toHaveLength(1);
  expect(said[0]).toContain('it answers with status 400');
  expect(delays()).toEqual([]);
});

test('span exporter: closing sends what is left', async () => {
  const { exporter, sizes } = world();
  exporter.add(spans(3));
  await exporter.close(1000);
  expect(sizes()).toEqual([3]);
});

test('span exporter: closing does not wait longer than its limit', async () => {
  const { exporter, answers, pass } = world();
  answers(() => new Promise(() => undefined));
  exporter.add(spans(3));
  const closed = exporter.close(1000);
  await pass();
  await closed;
  expect(exporter.counts.sent).toBe(0);
});
