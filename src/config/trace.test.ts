import { expect, test } from 'vitest';
import { readTraceUrl, traceProblems } from './trace.ts';

test.each([
  ['http://localhost:4318', 'http://localhost:4318/v1/traces'],
  ['http://localhost:4318/', 'http://localhost:4318/v1/traces'],
  ['https://otlp.example/team/a', 'https://otlp.example/team/a/v1/traces'],
  ['https://otlp.example/v1/traces', 'https://otlp.example/v1/traces'],
  ['https://otlp.example/v1/traces/?tenant=7', 'https://otlp.example/v1/traces?tenant=7'],
])('--trace %s: sends to %s', (given, url) => {
  expect(readTraceUrl(given)).toEqual({ ok: true, url });
  expect(traceProblems(given)).toEqual([]);
});

test.each([['localhost:4318'], ['ftp://x'], ['nonsense']])('--trace %s: is no address', (given) => {
  expect(traceProblems(given)).toMatchObject([
    { exitCode: 1, sentence: expect.stringContaining('--trace must be the address of an OpenTelemetry collector') },
  ]);
});

test('--trace: an address with a user is refused, and the sentence has no password', () => {
  const [problem] = traceProblems('http://me:open-sesame@localhost');
  expect(problem?.sentence).toContain('OTEL_EXPORTER_OTLP_HEADERS');
  expect(problem?.sentence).not.toContain('open-sesame');
});

test('--trace: none by default', () => {
  expect(traceProblems('')).toEqual([]);
});
