import { expect, test } from 'vitest';
import { AppError } from '../core/errors.ts';
import { tokenGapSeconds } from './exchange-record.ts';
import { chat, exchange, finish, storyRequest, word } from './testing/exchange.ts';

const lost = new AppError('engine-lost', { capability: 'text' });

test('exchange record: a stream is reported once, with the times of its phases', () => {
  const { record, over, wait } = chat();
  expect(over).toEqual([]);
  wait(1);
  record.ended('sent');
  record.ended('sent');
  expect(over).toEqual([record]);
  expect(record).toMatchObject({
    outcome: 'done',
    key: 'phone',
    model: 'mini',
    kinds: ['text'],
    status: 200,
    durationMs: 91,
    totalMs: 91,
    queueMs: 5,
    loadMs: 3,
    firstTokenMs: 30,
    finishReasons: ['stop'],
    promptSpeeds: [200],
    replySpeeds: [50],
    totals: { generations: 1, promptTokens: 10, cachedTokens: 6, completionTokens: 3, processedTokens: 4 },
  });
  expect(record.phases.map(({ name, from, to }) => `${name} ${from}-${to}`)).toEqual([
    'body 0-2',
    'queue 2-7',
    'load 7-10',
    'prompt 10-30',
    'generation 30-90',
  ]);
});

test('exchange record: times between tokens are counted by their bounds', () => {
  const { record } = chat();
  const bucket = tokenGapSeconds.findIndex((bound) => bound >= 0.03);
  expect(record.gaps?.counts[bucket]).toBe(2);
  expect(record.gaps?.sumMs).toBe(60);
});

test('exchange record: work that outlives the response is reported at its end', () => {
  const { record, over, wait } = exchange();
  record.queued('text');
  record.replied(200);
  wait(4);
  record.ended('sent');
  expect(over).toEqual([]);
  wait(100);
  record.generationBegun(storyRequest, 2048, 1);
  wait(10);
  record.event(word, 1);
  record.event(finish, 1);
  record.left();
  expect(over).toEqual([record]);
  expect(record).toMatchObject({ durationMs: 4, totalMs: 114, firstTokenMs: 114, totals: { completionTokens: 3 } });
});

test('exchange record: reports after the end change nothing', () => {
  const { record, over } = chat();
  record.ended('sent');
  record.event(word, 1);
  record.queued('text');
  record.left();
  expect(over).toHaveLength(1);
});

test('exchange record: tokens of parallel generations are measured apart', () => {
  const { record, wait } = exchange();
  for (const job of [1, 2]) {
    record.queued('text');
    record.generationBegun(storyRequest, 2048, job);
  }
  for (let token = 0; token < 3; token += 1) {
    wait(20);
    record.event(word, 1);
    wait(20);
    record.event(word, 2);
  }
  record.event(finish, 1);
  record.event(finish, 2);
  expect(record.gaps?.sumMs).toBe(160);
  expect(record.phases.filter(({ name }) => name === 'prompt').map(({ from, to }) => to - from)).toEqual([20, 40]);
  expect(record.totals.generations).toBe(2);
});

test('exchange record: a second generation of the same job replaces the first', () => {
  const { record, wait } = chat();
  record.generationBegun(storyRequest, 2048, 1);
  wait(500);
  record.event(word, 1);
  record.event(finish, 1);
  expect(record.gaps?.sumMs).toBe(60);
  expect(record.totals).toMatchObject({ generations: 2, completionTokens: 6 });
});

test.each([
  ['sent', 200, undefined, 'done', false],
  ['sent', 200, lost, 'failed', true],
  ['sent', 400, new AppError('invalid-json', { reason: 'x' }), 'failed', false],
  ['sent', 404, undefined, 'failed', false],
  ['sent', 500, lost, 'failed', true],
  ['failed', 200, lost, 'cut-off', true],
  ['client-gone', 200, undefined, 'client-gone', false],
] as const)(
  'exchange record: ended %s with status %d and error %s, outcome %s',
  (end, status, error, outcome, broken) => {
    const { record } = exchange();
    record.replied(status);
    if (error) record.errored(error);
    record.ended(end);
    expect(record).toMatchObject({ outcome, broken });
  },
);

test('exchange record: the error of a generation after status 200 is kept', () => {
  const { record } = exchange();
  record.replied(200);
  record.queued('text');
  record.generationBegun(storyRequest, 2048, 1);
  record.event({ type: 'error', error: lost }, 1);
  record.left();
  record.ended('sent');
  expect(record).toMatchObject({ outcome: 'failed', error: lost });
  expect(record.phases.at(-1)).toMatchObject({ name: 'generation', error: lost });
});

test('exchange record: a failed task is an error, a stopped one is not', () => {
  const [stopped, failed] = [exchange().record, exchange().record];
  stopped.taskEnded('image', new AppError('stopped', {}), 10);
  failed.taskEnded('image', lost, 10);
  expect(stopped.error).toBeUndefined();
  expect(failed.error).toBe(lost);
});

test('exchange record: keeps prompt and reply only if asked, and phases up to a limit', () => {
  expect(chat().record).toMatchObject({ prompt: undefined, reply: '' });
  expect(chat({}, { content: true }).record).toMatchObject({ prompt: 'Once', reply: 'word word word ' });
  const { record } = exchange();
  for (let job = 0; job < 1000; job += 1) record.dequeued(1);
  expect(record.phases.length).toBeLessThanOrEqual(100);
  expect(record.queueMs).toBe(1000);
});
