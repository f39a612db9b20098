import { describe, expect, test } from 'vitest';
import type { AbortCause } from '../core/abort.ts';
import { AppError } from '../core/errors.ts';
import type { GenerationEvent } from '../core/events.ts';
import type { GenerationRequest } from '../core/request.ts';
import { plainRequest } from '../core/testing/plain-request.ts';
import { RequestLog, TaskLog } from './request-log.ts';
import { Terminal } from './terminal.ts';

const request = plainRequest('Hello', 20);
const finish: GenerationEvent & { type: 'finish' } = {
  type: 'finish',
  reason: 'stop',
  cause: 'stop-text',
  stopText: 'User:',
  usage: { promptTokens: 30, cachedTokens: 10, completionTokens: 5 },
  timings: { initMs: 10, promptMs: 500, generationMs: 1000, processedTokens: 20 },
};

function world({ quiet = false, several = false, interactive = false, turnsReported = false } = {}) {
  let written = '';
  const time = { now: new Date(2026, 0, 2, 3, 4, 5).getTime() };
  const terminal = new Terminal({ interactive, columns: 80, write: (text) => (written += text) });
  const now = () => new Date(time.now);
  const log = new RequestLog({ terminal, quiet, several, turnsReported, now });
  return { log, time, written: () => written, lines: () => written.trim().split('\n') };
}

const job = (changes: { number?: number; shared?: boolean; text?: string } = {}) => ({
  number: 1,
  shared: false,
  text: 'Hi there',
  ...changes,
});

const start = (maxTokens: number): GenerationEvent => ({
  type: 'start',
  promptTokens: 30,
  cachedTokens: 10,
  maxTokens,
  seed: 1,
});

function play(options: Parameters<typeof world>[0], played = job(), asked: GenerationRequest = request) {
  const { log, lines } = world(options);
  log.begun(asked, played, 2048);
  log.event(start(20), played);
  log.event({ type: 'text-delta', text: 'Hi there' }, played);
  log.event(finish, played);
  return lines();
}

test('RequestLog: logs input, finish reason, speeds and output of a finished request', () => {
  expect(play({})).toEqual([
    'Input: {"prompt":"Hello","max_length":20,"stop":[]}',
    '(Stop sequence triggered: "User:")',
    '[03:04:05] CtxLimit:35/2048, Init:0.01s, Processed:20 in 0.50s (40.00T/s), Generated:5/20 in 1.00s (5.00T/s), Total:1.51s',
    'Output: Hi there',
  ]);
});

test('RequestLog: uses the context size of the request if it is smaller', () => {
  expect(play({}, job(), { ...request, maxContext: 512 })[2]).toContain('CtxLimit:35/512');
});

test('RequestLog: lines have the number of the request if several may run', () => {
  const lines = play({ several: true }, job({ number: 12 }));
  expect(lines).toHaveLength(4);
  for (const line of lines) expect(line.startsWith('#12 ')).toBe(true);
});

test('RequestLog: batched requests have their own kind of line, each with its length', () => {
  const { log, lines } = world({ quiet: true, several: true });
  const [first, second] = [job({ number: 1, shared: true }), job({ number: 2, shared: true })];
  log.begun(request, first, 2048);
  log.begun(request, second, 2048);
  log.event(start(20), first);
  log.event(start(99), second);
  log.event(finish, first);
  log.event({ ...finish, reason: 'length', cause: 'limit' }, second);
  expect(lines()).toEqual([
    '#1 (Stop sequence triggered: "User:")',
    '#1 [03:04:05] BatchRequest:1, Init:0.01s, Processed:20 in 0.50s (40.00T/s), Generated:5/20 in 1.00s (5.00T/s), Total:1.51s, Stop:2',
    '#2 [03:04:05] BatchRequest:2, Init:0.01s, Processed:20 in 0.50s (40.00T/s), Generated:5/99 in 1.00s (5.00T/s), Total:1.51s, Stop:0',
  ]);
});

test('RequestLog: a request that runs alone has the line format of KoboldCpp', () => {
  const { log, lines } = world({ several: true });
  log.sharingRefused('media', job({ number: 3 }));
  expect(lines()).toEqual(['Batching disabled due to media (#3)']);
});

test('RequestLog: quiet hides prompts and replies', () => {
  expect(play({ quiet: true }).join('\n')).not.toMatch(/Hello|Hi there/);
});

describe('RequestLog: early end', () => {
  test.each<[AbortCause, string]>([
    ['client-gone', 'the client went away'],
    ['key', 'it was stopped by its key'],
    ['no-key', 'it was stopped by the abort endpoint, without a key'],
    ['cancelled', 'it was cancelled'],
    ['shutdown', 'the server is stopping'],
    ['unread', 'nobody reads it any more'],
  ])('%s is logged with its reason, running or waiting', (by, sentence) => {
    const { log, lines } = world({ quiet: true });
    const [running, waiting] = [job({ number: 7 }), job({ number: 8 })];
    log.begun(request, running, 2048);
    log.aborted(running, by);
    log.aborted(waiting, by);
    expect(lines()).toEqual([`(Generation stopped: ${sentence})`, `#8 left the queue: ${sentence}`]);
  });

  test('before the start is logged without figures', () => {
    const { log, lines } = world({});
    const waiting = job({ number: 8, text: '' });
    log.aborted(waiting, 'client-gone');
    log.event({ ...finish, reason: 'aborted', cause: 'aborted' }, waiting);
    expect(lines()).toEqual(['#8 left the queue: the client went away']);
  });

  test('by an abort request is logged in the words of KoboldCpp', () => {
    const { log, lines } = world({});
    log.abortAsked('', false);
    log.abortAsked('KCPP\u001b[2J1', true);
    expect(lines()).toEqual(['Generation Aborted', 'Deferred Abort for GenKey: KCPP\\x1b[2J1']);
  });
});

test('RequestLog: logs a failure once, and marks the error as logged', () => {
  const { log, lines } = world({ several: true });
  const [told, other] = [1, 2].map(() => new AppError('engine-lost', { capability: 'text' })) as [AppError, AppError];
  log.event({ type: 'error', error: told }, job({ number: 4 }));
  expect([log.wasLogged(told), log.wasLogged(other)]).toEqual([true, false]);
  expect(lines()).toEqual([
    '#4 Request failed: The text engine stopped in the middle of this request; it is being started again.',
  ]);
});

test('RequestLog: escapes control characters in prompt, reply, stop text and warning', () => {
  const { log, written } = world({});
  const evil = '\u001b[2J\u009b31m\u202e';
  const played = job({ text: `Hi${evil}\nthere` });
  log.begun({ ...request, prompt: `Hello${evil}` }, played, 2048);
  log.event({ type: 'warning', code: 'x', text: `careful${evil}` }, played);
  log.event({ ...finish, stopText: evil }, played);
  expect(written().replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202e]/u);
  expect(written()).toContain('Hi\\x1b[2J\\x9b31m\\u202e\nthere');
});

test.each([
  [false, '[Cache: 4 of 30 tokens reused, the prompt differs at token 7: "12:31" instead of "12:30"]'],
  [true, '[Cache: 4 of 30 tokens reused, the prompt differs at token 7]'],
])('RequestLog: logs where a prompt differs from the cached one (quiet: %s)', (quiet, line) => {
  const { log, lines } = world({ quiet });
  const miss = {
    time: 0,
    partedAt: 7,
    promptTokens: 30,
    reusedTokens: 4,
    before: 'at ',
    kept: '12:30',
    wanted: '12:31',
  };
  log.event({ type: 'start', promptTokens: 30, cachedTokens: 4, maxTokens: 20, seed: 1, miss }, job());
  expect(lines()).toEqual([line]);
});

test('RequestLog: leaves what was not cached of long prompts to the line of their turn', () => {
  const { log, lines } = world({ turnsReported: true });
  const words = { before: '', kept: 'a', wanted: 'b' };
  for (const promptTokens of [999, 1000]) {
    const miss = { time: 0, partedAt: 7, promptTokens, reusedTokens: 4, ...words };
    log.event({ type: 'start', promptTokens, cachedTokens: 4, maxTokens: 20, seed: 1, miss }, job());
  }
  expect(lines()).toEqual(['[Cache: 4 of 999 tokens reused, the prompt differs at token 7: "b" instead of "a"]']);
});

describe('RequestLog: on a terminal', () => {
  test('updates the status in place, but not for every token', () => {
    const { log, time, written } = world({ interactive: true, quiet: true });
    const played = job();
    log.begun(request, played, 2048);
    log.promptProgress({ done: 10, total: 30 });
    log.event(start(20), played);
    for (let token = 0; token < 9; token += 1) {
      log.event({ type: 'text-delta', text: 'x' }, played);
      time.now += 40;
    }
    expect(written().match(/Processing Prompt \[BATCH\] \(10 \/ 30 tokens\)/g)).toHaveLength(1);
    expect(written().match(/Generating \(\d+ \/ 20 tokens\)/g)).toEqual([
      'Generating (1 / 20 tokens)',
      'Generating (4 / 20 tokens)',
      'Generating (7 / 20 tokens)',
    ]);
  });

  test('counts thinking like text, and writes no lines for tool calls', () => {
    const { log, written } = world({ interactive: true, quiet: true });
    log.event({ type: 'reasoning-delta', text: 'hm' }, job());
    log.event({ type: 'tool-start', index: 0, id: 'a', name: 'b' }, job());
    log.event({ type: 'tool-delta', index: 0, json: '{}' }, job());
    log.event({ type: 'tool-end', index: 0 }, job());
    expect(written()).toBe('\rGenerating (1 / 0 tokens)');
  });
});

function told(kind: string, error?: AppError): string {
  let output = '';
  const terminal = new Terminal({ write: (text) => (output += text), interactive: false, columns: 100 });
  new TaskLog(terminal, {
    embedding: 'Embedding',
    speech: 'Speech',
    transcription: 'Transcription',
    image: 'Image',
  }).ended({ number: 7, kind }, 1234, error);
  return output.trim();
}

test.each([
  ['embedding', 'Embedding #7 took 1.23 s'],
  ['speech', 'Speech #7 took 1.23 s'],
  ['transcription', 'Transcription #7 took 1.23 s'],
  ['image', 'Image #7 took 1.23 s'],
])('TaskLog: logs a %s task with its number and time', (kind, expected) => {
  expect(told(kind)).toBe(expected);
});

test('TaskLog: a stopped task is not a failure', () => {
  expect(told('speech', new AppError('stopped', {}))).toBe('Speech #7 was stopped after 1.23 s');
});

test('TaskLog: logs a failure with its reason, without control characters', () => {
  const reason = 'the file \u001b[2Jis broken';
  const line = told('transcription', new AppError('engine-failed', { capability: 'transcription', reason }));
  expect(line).toContain('Transcription #7 failed after 1.23 s: The transcription engine could not do this');
  expect(line).not.toContain('\u001b');
});
