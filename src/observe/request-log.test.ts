import { expect, test } from 'vitest';
import type { GenerationEvent } from '../core/events.ts';
import { defaultSampling } from '../core/sampling-fields.ts';
import { RequestLog, shorten } from './request-log.ts';
import { Terminal } from './terminal.ts';

const request = { prompt: 'Hello', memory: '', maxTokens: 20, stop: [], sampling: defaultSampling } as never;
const finish: GenerationEvent = {
  type: 'finish',
  reason: 'stop',
  cause: 'stop-text',
  stopText: 'User:',
  usage: { promptTokens: 30, cachedTokens: 10, completionTokens: 5 },
  timings: { initMs: 10, promptMs: 500, generationMs: 1000, processedTokens: 20 },
};

function world(quiet: boolean) {
  let written = '';
  const terminal = new Terminal({ interactive: false, columns: 80, write: (text) => (written += text) });
  const now = () => new Date(2026, 0, 2, 3, 4, 5);
  const log = new RequestLog({ terminal, quiet, contextSize: () => 2048, now });
  return { log, lines: () => written.trim().split('\n') };
}

const start = (maxTokens: number): GenerationEvent => ({
  type: 'start',
  promptTokens: 30,
  cachedTokens: 10,
  maxTokens,
  seed: 1,
});

function play(quiet: boolean) {
  const { log, lines } = world(quiet);
  const job = { text: 'Hi there' };
  log.begun(request);
  log.event(start(20), job);
  log.event({ type: 'text-delta', text: 'Hi there' }, job);
  log.event(finish, job);
  return lines();
}

test('a finished request leaves its input, the cause of its end, its speeds and its output', () => {
  expect(play(false)).toEqual([
    'Input: {"prompt":"Hello","max_length":20,"stop":[]}',
    '(Stop sequence triggered: "User:")',
    '[03:04:05] CtxLimit:35/2048, Init:0.01s, Processed:20 in 0.50s (40.00T/s), Generated:5/20 in 1.00s (5.00T/s), Total:1.51s',
    'Output: Hi there',
  ]);
});

test('those that ran together have a line of their own kind, each with its own length', () => {
  const { log, lines } = world(true);
  const [first, second] = [
    { text: 'a', batchNumber: 1 },
    { text: 'b', batchNumber: 2 },
  ];
  log.event(start(20), first);
  log.event(start(99), second);
  log.event(finish, first);
  log.event({ ...finish, reason: 'length', cause: 'limit' }, second);
  expect(lines()).toEqual([
    '(Stop sequence triggered: "User:")',
    '[03:04:05] BatchRequest:1, Init:0.01s, Processed:20 in 0.50s (40.00T/s), Generated:5/20 in 1.00s (5.00T/s), Total:1.51s, Stop:2',
    '[03:04:05] BatchRequest:2, Init:0.01s, Processed:20 in 0.50s (40.00T/s), Generated:5/99 in 1.00s (5.00T/s), Total:1.51s, Stop:0',
  ]);
});

test('quiet hides what people write and read', () => {
  expect(play(true).join('\n')).not.toMatch(/Hello|Hi there/);
});

test.each([
  [false, '[Cache: 4 of 30 tokens reused, the prompt differs at token 7: "12:31" instead of "12:30"]'],
  [true, '[Cache: 4 of 30 tokens reused, the prompt differs at token 7]'],
])('a prompt that parted from its chat leaves the place (quiet: %s)', (quiet, line) => {
  let written = '';
  const terminal = new Terminal({ interactive: false, columns: 80, write: (text) => (written += text) });
  const log = new RequestLog({ terminal, quiet, contextSize: () => 2048, now: () => new Date(0) });
  const miss = {
    time: 0,
    partedAt: 7,
    promptTokens: 30,
    reusedTokens: 4,
    before: 'at ',
    kept: '12:30',
    wanted: '12:31',
  };
  log.event({ type: 'start', promptTokens: 30, cachedTokens: 4, maxTokens: 20, seed: 1, miss }, { text: '' });
  expect(written.trim()).toBe(line);
});

test('a long text keeps both ends', () => {
  expect(shorten('a'.repeat(10) + 'b'.repeat(10), 10)).toBe('aaaaa … bbbbb');
});
