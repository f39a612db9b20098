import { describe, expect, test } from 'vitest';
import type { GenerationEvent } from '../core/events.ts';
import { modelId } from '../core/model-names.ts';
import type { ListedModel } from '../core/models-view.ts';
import type { StartTimer } from '../core/timers.ts';
import type { KeepAlive, StatusComments } from '../http/call.ts';
import { sseHeaders } from '../http/sse.ts';
import { handTimer, latch } from '../http/testing/world.ts';
import {
  findModel,
  mergedEngineNotices,
  modelsByName,
  reasoningControl,
  streamReply,
  withEngineNotices,
} from './dialect.ts';
import { finishEvent, play, startEvent } from './testing/doubles.ts';

const patient: StartTimer = () => ({ restart: () => undefined, cancel: () => undefined });
const impatient: StartTimer = (milliseconds, passed) => {
  if (milliseconds === 5_000) passed();
  return patient(0, passed);
};

async function* types(events: AsyncIterable<GenerationEvent>): AsyncGenerator<string> {
  for await (const { type } of events) yield type;
}

async function streamed(events: readonly GenerationEvent[], startTimer: StartTimer) {
  const reply = await streamReply(play(events), types, {
    headers: { a: 'b' },
    filler: '',
    requestContext: { queueStatus: () => undefined },
    startTimer,
  });
  const frames: string[] = [];
  if ('stream' in reply) for await (const frame of reply.stream) frames.push(frame as string);
  return { headers: reply.headers, frames };
}

test.each<[string, StartTimer, number, object]>([
  ['names what did not fit in a header', patient, 12, { a: 'b', 'x-parley-dropped-tokens': '12' }],
  ['has no such header when all did fit', patient, 0, { a: 'b' }],
  ['whose head is gone by then leaves it to the warning of the engine', impatient, 12, { a: 'b' }],
])('streamReply: %s', async (_, startTimer, droppedTokens, headers) => {
  const events = [startEvent({ droppedTokens }), finishEvent()];
  expect(await streamed(events, startTimer)).toEqual({
    headers: { ...sseHeaders, ...headers },
    frames: ['start', 'finish'],
  });
});

test('streamReply: the keep-alive reports how far the prompt is processed', async () => {
  let reading: { done: number; total: number } | undefined = { done: 12_400, total: 31_000 };
  const requestContext = { queueStatus: () => undefined, promptProgress: () => reading };
  const options = { headers: {}, filler: ': a\n\n', requestContext, startTimer: patient };
  const reply = (await streamReply(play([startEvent(), finishEvent()]), types, options)) as { keepAlive?: KeepAlive };
  expect(reply.keepAlive?.progress?.()).toBe(': a\n\n: reading 12400 of 31000 tokens\n\n');
  reading = undefined;
  expect(reply.keepAlive?.progress?.()).toBeUndefined();
  const page = (await streamReply(play([startEvent()]), types, { ...options, notice: () => '' })) as typeof reply;
  expect(page.keepAlive).not.toHaveProperty('progress');
});

describe('streamReply: a queued request', () => {
  const queueStatus = { type: 'queued' as const, position: 2, estimateSeconds: 8 };
  function world(waits: () => boolean) {
    const time = handTimer();
    const turn = latch();
    async function* events(): AsyncGenerator<GenerationEvent> {
      await turn.promise;
      yield finishEvent();
    }
    const reply = streamReply(events(), types, {
      headers: {},
      filler: '',
      requestContext: { queueStatus: () => (waits() ? queueStatus : undefined) },
      startTimer: time.startTimer,
    });
    return { time, turn, reply };
  }

  test('starts its stream after a second, with comments about its queue status', async () => {
    const { time, reply } = world(() => true);
    time.pass(1000);
    const { statusComments } = (await reply) as { readonly statusComments?: StatusComments };
    expect(statusComments?.next()).toBe(': queue position 2, about 8 s\n\n');
  });

  test('has no comments if its turn comes within a second', async () => {
    let waiting = true;
    const { time, turn, reply } = world(() => waiting);
    waiting = false;
    time.pass(1000);
    turn.open();
    expect(await reply).not.toHaveProperty('statusComments');
    expect(time.waiting()).toEqual([]);
  });

  test('starts its stream also if it begins to wait later, as for a model', async () => {
    let waiting = false;
    const { time, reply } = world(() => waiting);
    for (let seconds = 0; seconds < 3; seconds += 1) time.pass(1000);
    waiting = true;
    time.pass(1000);
    expect(await reply).toHaveProperty('statusComments');
  });

  test('keeps the status of a late error if it does not wait', async () => {
    const { time, turn, reply } = world(() => false);
    for (let seconds = 0; seconds < 4; seconds += 1) time.pass(1000);
    expect(time.waiting()).toEqual([5_000, 1000]);
    time.pass(5_000);
    const late = await reply;
    expect(late).not.toHaveProperty('statusComments');
    expect(late).toMatchObject({ keepAlive: { milliseconds: 5_000, immediately: true } });
    turn.open();
    await reply;
  });
});

test.each([
  ['low', undefined, { type: 'share', share: 0.25 }],
  ['low', 50, { type: 'tokens', tokens: 50 }],
  ['xhigh', undefined, undefined],
  ['constructor', undefined, undefined],
  [undefined, -1, undefined],
] as const)('reasoningControl: effort %s with %s tokens gives the budget %o', (effort, tokens, budget) => {
  expect(reasoningControl(effort, tokens)).toEqual({ effort, budget });
});

describe('withEngineNotices', () => {
  test('adds to the fields that are already named', () => {
    expect(
      withEngineNotices({ 'x-parley-ignored': 'user' }, { droppedTokens: 3, ignored: ['top_a', 'mirostat'] }),
    ).toEqual({
      'x-parley-ignored': 'user, top_a, mirostat',
      'x-parley-dropped-tokens': '3',
    });
    expect(withEngineNotices({ a: 'b' }, {})).toEqual({ a: 'b' });
  });

  test('mergedEngineNotices: names each field once for several replies', () => {
    expect(
      mergedEngineNotices([
        { droppedTokens: 1, ignored: ['top_a'] },
        { droppedTokens: 4, ignored: ['top_a', 'tfs'] },
        {},
      ]),
    ).toEqual({
      droppedTokens: 4,
      ignored: ['top_a', 'tfs'],
    });
    expect(mergedEngineNotices([])).toEqual({ droppedTokens: 0, ignored: [] });
  });
});

const listed = (name: string, own: Partial<ListedModel> = {}): ListedModel => ({
  name,
  id: modelId(name),
  present: false,
  state: 'unloaded',
  expiresAt: Number.POSITIVE_INFINITY,
  ...own,
});

test('modelsByName: undefined if names select no model', async () => {
  const list = async () => [listed('a')];
  expect(await modelsByName({ models: { list, swap: undefined, byName: false } })).toBeUndefined();
  expect(await modelsByName({ models: undefined })).toBeUndefined();
  expect(await modelsByName({ models: { list, swap: undefined, byName: true } })).toMatchObject([{ name: 'a' }]);
});

describe('findModel', () => {
  const models = [
    listed('a', { id: 'koboldcpp/shown' }),
    listed('My model'),
    listed('small.gguf'),
    listed('small.kcpps', { aliases: ['small'] }),
    listed('sub/one', { aliases: ['sub/one.gguf'] }),
  ];

  test.each([
    ['koboldcpp/Mymodel', 'My model'],
    ['my model', 'My model'],
    ['mymodel:latest', 'My model'],
    ['My model.gguf', 'My model'],
    ['shown', 'a'],
    ['small', 'small.kcpps'],
    ['small.gguf', 'small.gguf'],
    ['koboldcpp/sub/one:latest', 'sub/one'],
    ['sub/one.gguf', 'sub/one'],
    ['koboldcpp/subone', 'sub/one'],
  ])('%s selects %s', (asked, name) => {
    expect(findModel(models, asked)?.name).toBe(name);
  });

  test('undefined for an unknown name', () => {
    expect(findModel(models, 'c')).toBeUndefined();
  });

  test('looks up aliases after the names of models', () => {
    const alias = () => 'small.gguf';
    expect(findModel(models, 'claude-x', alias)?.name).toBe('small.gguf');
    expect(findModel(models, 'a', alias)?.name).toBe('a');
  });
});
