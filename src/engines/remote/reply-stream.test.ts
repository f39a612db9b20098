import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AppError } from '../../core/errors.ts';
import type { GenerationEvent } from '../../core/events.ts';
import { fold } from '../../core/fold.ts';
import { ReplyStream, type ReplyStreamOptions, StreamError } from './reply-stream.ts';
import { delta, ended, said, usage } from './testing/upstream.ts';

let time = 0;

function stream(changes: Partial<ReplyStreamOptions> = {}): ReplyStream {
  time = 0;
  let ids = 0;
  return new ReplyStream({
    form: 'chat',
    host: 'gpu1:8000',
    maxTokens: 100,
    separate: true,
    parted: true,
    newCallId: () => `made${ids++}`,
    now: () => (time += 10),
    ...changes,
  });
}

function eventsOf(chunks: readonly unknown[], changes: Partial<ReplyStreamOptions> = {}): readonly GenerationEvent[] {
  const reply = stream(changes);
  const events = chunks.flatMap((chunk) => reply.read(typeof chunk === 'string' ? chunk : JSON.stringify(chunk)));
  return [...events, ...reply.finish()];
}

async function* play(events: readonly GenerationEvent[]): AsyncGenerator<GenerationEvent> {
  yield* events;
}

const foldOf = (chunks: readonly unknown[], changes: Partial<ReplyStreamOptions> = {}) =>
  fold(play(eventsOf(chunks, changes)));

function thrownBy(make: () => unknown): unknown {
  try {
    make();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

describe('ReplyStream', () => {
  test('has text, finish and the usage of the backend', async () => {
    const chunks = [
      delta({ role: 'assistant', content: '' }),
      said('Hel'),
      said('lo'),
      ended(),
      usage(12, 2, 5),
      '[DONE]',
    ];
    expect(await foldOf(chunks)).toMatchObject({
      text: 'Hello',
      reason: 'stop',
      cause: 'end-token',
      usage: { promptTokens: 12, cachedTokens: 5, completionTokens: 2 },
      timings: { processedTokens: 7 },
    });
  });

  test('has no event before the first text', () => {
    const reply = stream();
    expect(reply.read(JSON.stringify(delta({ role: 'assistant', content: '' })))).toEqual([]);
    expect(reply.read(JSON.stringify(delta({ role: 'assistant' })))).toEqual([]);
  });

  test('finish: length, stop text or end token', async () => {
    expect(await foldOf([said('a'), ended('length')])).toMatchObject({ reason: 'length', cause: 'limit' });
    expect(await foldOf([said('a'), ended('stop', { stop_reason: 'User:' })])).toMatchObject({
      reason: 'stop',
      cause: 'stop-text',
      stopText: 'User:',
    });
    // Some engines put the number of a token there.
    expect(await foldOf([said('a'), ended('stop', { stop_reason: 2 })])).toMatchObject({ cause: 'end-token' });
    expect(await foldOf([said('a'), '[DONE]'])).toMatchObject({ reason: 'stop' });
  });

  test('counts chunks without usage', async () => {
    const { usage: counted } = await foldOf([delta({ reasoning_content: 'hm' }), said('a'), said('b'), ended()]);
    expect(counted).toEqual({ promptTokens: 0, cachedTokens: 0, completionTokens: 3, reasoningTokens: 1 });
  });

  test('has the timings of the backend, or measured ones', async () => {
    const timings = { prompt_n: 3, prompt_ms: 40, predicted_ms: 50 };
    expect((await foldOf([said('a'), ended(), { choices: [], timings }])).timings).toEqual({
      initMs: 0,
      promptMs: 40,
      generationMs: 50,
      processedTokens: 3,
    });
    const seen = (await foldOf([said('a'), ended()])).timings;
    expect(seen?.promptMs).toBeGreaterThan(0);
    expect(seen?.generationMs).toBeGreaterThan(0);
  });

  test('reads a whole response', async () => {
    const whole = {
      choices: [{ message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 3, completion_tokens: 1 },
    };
    expect(await foldOf([whole])).toMatchObject({ text: 'Hello', usage: { promptTokens: 3 } });
  });

  test('passes on warnings', async () => {
    expect((await foldOf([said('a'), { ...ended(), warnings: ['careful', 5] }])).warnings).toEqual(['careful']);
  });

  test('keeps reasoning in the text of completions', async () => {
    const text = (words: string, more: object = {}) => ({ choices: [{ index: 0, text: words, ...more }] });
    const chunks = [text('<think>'), text(' hm</think>'), text('', { finish_reason: 'length' }), usage(4, 2)];
    expect(await foldOf(chunks, { form: 'text', separate: false })).toMatchObject({
      text: '<think> hm</think>',
      reasoning: '',
      reason: 'length',
    });
  });

  test('aborted: finishes with what has arrived', async () => {
    const reply = stream();
    const events = [...reply.read(JSON.stringify(said('Hel'))), ...reply.aborted()];
    expect(await fold(play(events))).toMatchObject({ text: 'Hel', reason: 'aborted', usage: { completionTokens: 1 } });
  });
});

describe('ReplyStream: reasoning', () => {
  const apart = [delta({ reasoning_content: 'One ' }), delta({ reasoning: 'two.' }), said('Three.'), ended()];
  const inside = [said('<th'), said('ink>One two.</thi'), said('nk>\n\nThree.'), ended()];

  test('is separate if sent separately, by either name', async () => {
    expect(await foldOf(apart)).toMatchObject({ reasoning: 'One two.', text: 'Three.' });
  });

  test('is separated from tags if requested', async () => {
    expect(await foldOf(inside, { parted: false })).toMatchObject({ reasoning: 'One two.', text: 'Three.' });
    expect(await foldOf(apart, { parted: false })).toMatchObject({ reasoning: 'One two.', text: 'Three.' });
  });

  test('becomes tags if requested', async () => {
    const { text, reasoning } = await foldOf(apart, { separate: false });
    expect(reasoning).toBe('');
    expect(text).toBe('<think>\nOne two.\n</think>\n\nThree.');
    expect((await foldOf(inside, { separate: false, parted: false })).text).toBe('<think>One two.</think>\n\nThree.');
  });

  test('an open tag is closed at the end', async () => {
    const { text } = await foldOf([delta({ reasoning_content: 'One' }), ended('length')], { separate: false });
    expect(text).toBe('<think>\nOne\n</think>\n\n');
  });
});

describe('ReplyStream: tool calls', () => {
  const call = (fields: object) => delta({ tool_calls: [fields] });

  test('come in deltas by index', async () => {
    const generation = await foldOf([
      call({ index: 0, id: 'a', type: 'function', function: { name: 'add', arguments: '' } }),
      call({ index: 0, function: { arguments: '{"x"' } }),
      call({ index: 0, function: { arguments: ':1}' } }),
      call({ index: 1, id: 'b', function: { name: 'sub', arguments: '{}' } }),
      ended('tool_calls'),
    ]);
    expect(generation.reason).toBe('tool-calls');
    expect(generation.toolCalls).toEqual([
      { id: 'a', name: 'add', json: '{"x":1}' },
      { id: 'b', name: 'sub', json: '{}' },
    ]);
  });

  test('start and end in order', () => {
    const types = eventsOf([
      said('Let me see.'),
      call({ index: 3, id: 'a', function: { name: 'add', arguments: '{}' } }),
      call({ index: 7, id: 'b', function: { name: 'add', arguments: '{}' } }),
      ended('stop'),
    ]).map((event) => ('index' in event ? `${event.type} ${event.index}` : event.type));
    expect(types).toEqual([
      'text-delta',
      'tool-start 0',
      'tool-delta 0',
      'tool-end 0',
      'tool-start 1',
      'tool-delta 1',
      'tool-end 1',
      'finish',
    ]);
  });

  test('with index 0 for all calls are separated by id', async () => {
    const { toolCalls } = await foldOf([
      call({ index: 0, id: 'a', function: { name: 'add', arguments: '{"x":1}' } }),
      call({ index: 0, id: 'b', function: { name: 'add', arguments: '{"x":2}' } }),
      ended('tool_calls'),
    ]);
    expect(toolCalls.map(({ json }) => json)).toEqual(['{"x":1}', '{"x":2}']);
  });

  test('without ids or indexes get them, and arguments may be an object', async () => {
    const { toolCalls } = await foldOf([
      delta({ tool_calls: { function: { name: 'add', arguments: { x: 1 } } } }),
      ended('stop'),
    ]);
    expect(toolCalls).toEqual([{ id: 'made0', name: 'add', json: '{"x":1}' }]);
  });

  test('keep arguments that arrive before the name', async () => {
    const { toolCalls } = await foldOf([
      call({ index: 0, id: 'a', function: { arguments: '{"x"' } }),
      call({ index: 0, function: { name: 'add', arguments: ':1}' } }),
      ended('tool_calls'),
    ]);
    expect(toolCalls.map(({ name, json }) => ({ name, json }))).toEqual([{ name: 'add', json: '{"x":1}' }]);
  });

  test('that never came are not reported as finish reason', async () => {
    expect(await foldOf([said('Well.'), ended('tool_calls')])).toMatchObject({ reason: 'stop', toolCalls: [] });
  });
});

describe('ReplyStream: logprobs', () => {
  const entry = { token: 'é', logprob: -0.5, bytes: [195, 169], id: 9, top_logprobs: [{ token: 'e', logprob: -2 }] };

  test('of chats belong to their chunk', async () => {
    const { logprobs } = await foldOf([delta({ content: 'é' }, { logprobs: { content: [entry] } }), ended()]);
    expect(logprobs).toEqual([
      {
        token: 9,
        text: 'é',
        bytes: [195, 169],
        logprob: -0.5,
        top: [{ token: -1, text: 'e', bytes: [101], logprob: -2 }],
      },
    ]);
  });

  test('of completions may have the legacy form', async () => {
    const logprobs = {
      tokens: ['a', 'b'],
      token_logprobs: [-1, null],
      top_logprobs: [{ a: -1, c: -0.5 }, null],
    };
    const chunk = { choices: [{ text: 'ab', logprobs }] };
    const told = (await foldOf([chunk, '[DONE]'], { form: 'text', separate: false })).logprobs;
    expect(told.map(({ text, logprob }) => [text, logprob])).toEqual([
      ['a', -1],
      ['b', Number.NEGATIVE_INFINITY],
    ]);
    expect(told[0]?.top.map(({ text }) => text)).toEqual(['c', 'a']);
  });

  test('are sent with empty text while a tag is buffered', () => {
    const chunk = delta({ content: '<' }, { logprobs: { content: [{ token: '<', logprob: 0 }] } });
    const [first] = stream({ parted: false }).read(JSON.stringify(chunk));
    expect(first).toMatchObject({ type: 'text-delta', text: '', logprobs: [{ text: '<' }] });
  });
});

describe('ReplyStream: errors', () => {
  test('a stream without an end', () => {
    const error = thrownBy(() => eventsOf([said('Hel')])) as AppError;
    expect(error.code).toBe('remote-lost');
    expect(error.message).toContain('gpu1:8000');
    expect((thrownBy(() => eventsOf([])) as AppError).code).toBe('remote-lost');
  });

  test('a request aborted by the backend', () => {
    expect((thrownBy(() => eventsOf([said('Hel'), ended('abort')])) as AppError).code).toBe('remote-lost');
  });

  test('an error event has message and status', () => {
    const told = (error: unknown) => thrownBy(() => stream().read(JSON.stringify({ error }))) as StreamError;
    expect(told({ message: 'too long', code: 400 })).toMatchObject({ message: 'too long', status: 400 });
    expect(told('out of memory')).toMatchObject({ message: 'out of memory', status: 500 });
    expect(told({ type: 'overloaded' })).toMatchObject({ message: 'overloaded' });
    expect(told({})).toBeInstanceOf(StreamError);
  });

  test('invalid JSON', () => {
    expect((thrownBy(() => stream().read('<html>')) as AppError).code).toBe('remote-lost');
  });

  test('any JSON gives events or an error', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), fc.boolean(), (chunks, parted) => {
        const reply = stream({ parted });
        for (const chunk of chunks) {
          try {
            for (const event of reply.read(JSON.stringify(chunk))) expect(event.type).toEqual(expect.any(String));
          } catch (error) {
            expect(error).toBeInstanceOf(StreamError);
          }
        }
      }),
    );
    const wild = fc.record({
      choices: fc.array(
        fc.record({
          delta: fc.oneof(
            fc.jsonValue(),
            fc.record({ content: fc.jsonValue(), reasoning_content: fc.jsonValue(), tool_calls: fc.jsonValue() }),
          ),
          finish_reason: fc.jsonValue(),
          logprobs: fc.jsonValue(),
        }),
      ),
      usage: fc.jsonValue(),
      timings: fc.jsonValue(),
      warnings: fc.jsonValue(),
    });
    fc.assert(
      fc.property(fc.array(wild), (chunks) => {
        const events = eventsOf([...chunks, '[DONE]']);
        expect(events.at(-1)?.type).toBe('finish');
      }),
    );
  });
});

describe('ReplyStream: token limit', () => {
  const isPast = (chunks: readonly unknown[], maxTokens = 100): boolean => {
    const reply = stream({ maxTokens });
    for (const chunk of chunks) reply.read(JSON.stringify(chunk));
    return reply.isPastLimit;
  };
  const times = (count: number, chunk: unknown) => Array.from({ length: count }, () => chunk);

  test('counts chunks without usage, with tolerance', () => {
    expect(isPast(times(264, said('word')))).toBe(false);
    expect(isPast(times(265, said('word')))).toBe(true);
  });

  test('counts short chunks as fractions of a token', () => {
    expect(isPast(times(1000, said('x')))).toBe(false);
    expect(isPast(times(1100, said('x')))).toBe(true);
  });

  test('counts the arguments of tool calls', () => {
    const piece = delta({ tool_calls: [{ index: 0, function: { arguments: '"abc"' } }] });
    const begin = delta({ tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '' } }] });
    expect(isPast([begin, ...times(300, piece)])).toBe(true);
  });

  test('uses the usage if reported during the stream', () => {
    const counted = (tokens: number) => ({ ...said('word'), usage: { completion_tokens: tokens } });
    expect(isPast([...times(400, said('word')), counted(100)])).toBe(false);
    expect(isPast([counted(265)])).toBe(true);
  });

  test('has extra tokens for reasoning', () => {
    expect(isPast(times(3000, delta({ reasoning_content: 'hmm' })))).toBe(false);
  });

  test('limits the characters too', () => {
    expect(isPast([said('x'.repeat(130_000))])).toBe(false);
    expect(isPast([said('x'.repeat(140_000))])).toBe(true);
  });

  test('cut: finishes with length', () => {
    const reply = stream({ maxTokens: 1 });
    reply.read(JSON.stringify(said('x')));
    expect(reply.cut().at(-1)).toMatchObject({ type: 'finish', reason: 'length', cause: 'limit' });
  });
});
