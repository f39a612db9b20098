import { type ExchangeRecord, tokenGapSeconds } from './exchange-record.ts';
import type { Counter, Histogram, Labels } from './prometheus.ts';

/** Of requests that only look something up, up to long stories. */
const requestSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const firstTokenSeconds = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120, 300];
const waitSeconds = [0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
const promptSpeeds = [10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 25_000];
const replySpeeds = [1, 2, 5, 10, 15, 20, 30, 40, 50, 75, 100, 150, 200, 300, 500, 1000];

interface Make {
  counter(name: string, help: string): Counter;
  histogram(name: string, help: string, bounds: readonly number[]): Histogram;
}

/** The metrics of HTTP requests. All have the labels `family`, `status` and `outcome`, of which there are few values. */
export function exchangeMetrics({ counter, histogram }: Make) {
  return {
    requests: counter('parley_http_requests_total', 'HTTP requests that ended.'),
    duration: histogram(
      'parley_http_request_duration_seconds',
      'From the head of a request to the last byte of its response.',
      requestSeconds,
    ),
    firstToken: histogram(
      'parley_time_to_first_token_seconds',
      'From the head of a request to the first token of its reply.',
      firstTokenSeconds,
    ),
    betweenTokens: histogram(
      'parley_time_between_tokens_seconds',
      'From one token of a reply to the next.',
      tokenGapSeconds,
    ),
    queueWait: histogram(
      'parley_http_request_queue_seconds',
      'How long a request waited in the queue, all its jobs together.',
      waitSeconds,
    ),
    promptSpeed: histogram(
      'parley_prompt_tokens_per_second',
      'Speed of each prompt, without what was cached.',
      promptSpeeds,
    ),
    replySpeed: histogram('parley_reply_tokens_per_second', 'Speed of each reply.', replySpeeds),
  };
}

type ExchangeMetrics = ReturnType<typeof exchangeMetrics>;

/** Counts a request that is over. Its tokens were counted by the record; here they are only added up. */
export function countExchange(metrics: ExchangeMetrics, record: ExchangeRecord): void {
  const labels = labelsOf(record);
  metrics.requests.inc(labels);
  metrics.duration.observe(labels, record.durationMs / 1000);
  if (record.firstTokenMs !== undefined) metrics.firstToken.observe(labels, record.firstTokenMs / 1000);
  if (record.queueMs !== undefined) metrics.queueWait.observe(labels, record.queueMs / 1000);
  if (record.gaps) metrics.betweenTokens.add(labels, record.gaps.counts, record.gaps.sumMs / 1000);
  for (const speed of record.promptSpeeds) metrics.promptSpeed.observe(labels, speed);
  for (const speed of record.replySpeeds) metrics.replySpeed.observe(labels, speed);
}

/** A request of no endpoint is of the family `none`; one whose client left before the response has the status `none`. */
function labelsOf({ head, status, outcome }: ExchangeRecord): Labels {
  return { family: head.family || 'none', status: status === undefined ? 'none' : String(status), outcome };
}
