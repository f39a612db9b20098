import { expect, test } from 'vitest';
import { AppError } from '../core/errors.ts';
import type { ExchangeRecord } from './exchange-record.ts';
import { createMetrics } from './metrics.ts';
import { chat, exchange } from './testing/exchange.ts';

const text = { performance: () => ({}) as never, state: () => ({ type: 'none' }) as const };

async function linesOf(records: readonly ExchangeRecord[], spans?: () => Record<string, number>): Promise<string[]> {
  const metrics = createMetrics({ startedAt: 0, version: '1', spans });
  for (const record of records) metrics.exchange(record);
  return (await metrics.exposition(text)).text.split('\n');
}

test('metrics: a streamed chat is counted by family, status and outcome', async () => {
  const { record } = chat();
  record.ended('sent');
  const labels = 'family="openai",status="200",outcome="done"';
  expect(await linesOf([record, record])).toEqual(
    expect.arrayContaining([
      '# TYPE parley_http_requests_total counter',
      `parley_http_requests_total{${labels}} 2`,
      `parley_http_request_duration_seconds_sum{${labels}} 0.18`,
      `parley_time_to_first_token_seconds_bucket{le="0.025",${labels}} 0`,
      `parley_time_to_first_token_seconds_bucket{le="0.05",${labels}} 2`,
      `parley_time_between_tokens_seconds_bucket{le="0.02",${labels}} 0`,
      `parley_time_between_tokens_seconds_bucket{le="0.03",${labels}} 4`,
      `parley_time_between_tokens_seconds_count{${labels}} 4`,
      `parley_time_between_tokens_seconds_sum{${labels}} 0.12`,
      `parley_http_request_queue_seconds_bucket{le="0.01",${labels}} 2`,
      `parley_prompt_tokens_per_second_bucket{le="250",${labels}} 2`,
      `parley_reply_tokens_per_second_bucket{le="50",${labels}} 2`,
    ]),
  );
});

test('metrics: a stream that failed after status 200 has its own label', async () => {
  const failed = chat().record;
  failed.errored(new AppError('engine-lost', { capability: 'text' }));
  failed.ended('sent');
  const cut = chat().record;
  cut.ended('failed');
  expect(await linesOf([failed, cut])).toEqual(
    expect.arrayContaining([
      'parley_http_requests_total{family="openai",status="200",outcome="failed"} 1',
      'parley_http_requests_total{family="openai",status="200",outcome="cut-off"} 1',
    ]),
  );
});

test('metrics: paths and ids of clients add no series', async () => {
  const records = Array.from({ length: 100 }, (_, number) => {
    const { record } = exchange({ id: `req_${number}`, path: `/${number}`, family: '', endpoint: '' });
    record.replied(404);
    record.ended('sent');
    return record;
  });
  const lines = await linesOf(records);
  expect(lines.filter((line) => line.startsWith('parley_http_requests_total{'))).toEqual([
    'parley_http_requests_total{family="none",status="404",outcome="failed"} 100',
  ]);
});

test('metrics: a request without generation has no token times', async () => {
  const { record } = exchange();
  record.replied(200);
  record.ended('sent');
  expect((await linesOf([record])).filter((line) => /^parley_time|_per_second[_{]/.test(line))).toEqual([]);
});

test('metrics: spans of --trace are counted as sent and dropped', async () => {
  expect(await linesOf([], () => ({ sent: 7, dropped: 2 }))).toEqual(
    expect.arrayContaining([
      'parley_trace_spans_total{outcome="sent"} 7',
      'parley_trace_spans_total{outcome="dropped"} 2',
    ]),
  );
});
