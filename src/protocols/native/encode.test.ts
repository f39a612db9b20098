import { expect, test } from 'vitest';
import { AppError } from '../../core/errors.ts';
import type { GenerationEvent } from '../../core/events.ts';
import { fold } from '../../core/fold.ts';
import { encodeEmptyReply, encodeFailure, encodeLogprobs, encodeReply, encodeStream } from './generate.ts';

const start: GenerationEvent = { type: 'start', promptTokens: 12, cachedTokens: 0, maxTokens: 9, seed: 1 };
const finish = (reason: 'stop' | 'length' | 'aborted'): GenerationEvent => ({
  type: 'finish',
  reason,
  cause: 'limit',
  usage: { promptTokens: 12, cachedTokens: 0, completionTokens: 4 },
  timings: { initMs: 0, promptMs: 0, generationMs: 0, processedTokens: 12 },
});
const text = (piece: string): GenerationEvent => ({ type: 'text-delta', text: piece });
const lost = new AppError('engine-lost', { capability: 'text' });

async function* play(...events: GenerationEvent[]): AsyncGenerator<GenerationEvent> {
  yield* events;
}

async function bytes(frames: AsyncIterable<string>): Promise<string> {
  let all = '';
  for await (const frame of frames) all += frame;
  return all;
}

test('encodeStream: one frame per piece, and one for the end', async () => {
  expect(await bytes(encodeStream(play(start, text(' the'), text(''), text(' end.'), finish('stop'))))).toBe(
    'event: message\ndata: {"token": " the", "finish_reason": null}\n\n' +
      'event: message\ndata: {"token": " end.", "finish_reason": null}\n\n' +
      'event: message\ndata: {"token": "", "finish_reason": "stop"}\n\n',
  );
});

test('encodeStream: escapes quotes, line breaks and non-ASCII characters', async () => {
  expect(await bytes(encodeStream(play(text('"\n\t\\ é 日 🙂 \u2028'))))).toBe(
    'event: message\ndata: {"token": "\\"\\n\\t\\\\ \\u00e9 \\u65e5 \\ud83d\\ude42 \\u2028", "finish_reason": null}\n\n' +
      'event: message\ndata: {"token": "", "finish_reason": "length"}\n\n',
  );
});

test('encodeStream: every frame matches the expression of the web client', async () => {
  const stream = await bytes(encodeStream(play(text('a: b\n\ndata: x'), text('"'), finish('length'))));
  const found = [...stream.matchAll(/^event: (.*)\ndata: (.*)(\r?\n){2}/gm)].map((match) => JSON.parse(match[2] ?? ''));
  expect(found).toEqual([
    { token: 'a: b\n\ndata: x', finish_reason: null },
    { token: '"', finish_reason: null },
    { token: '', finish_reason: 'length' },
  ]);
});

test('encodeStream: thinking is part of the text', async () => {
  const stream = await bytes(encodeStream(play({ type: 'reasoning-delta', text: '<think>hm' }, finish('stop'))));
  expect(stream).toContain('{"token": "<think>hm", "finish_reason": null}');
});

test('encodeStream: an aborted generation ends with length', async () => {
  expect(await bytes(encodeStream(play(finish('aborted'))))).toBe(
    'event: message\ndata: {"token": "", "finish_reason": "length"}\n\n',
  );
});

const failure =
  'event: message\ndata: {"token": "", "finish_reason": "error", "error": {"message": "The text engine stopped in the ' +
  'middle of this request; it is being started again.", "type": "server_error"}}\n\n';

test('encodeStream: an error is the last frame, with its reason', async () => {
  expect(await bytes(encodeStream(play({ type: 'error', error: lost })))).toBe(failure);
  expect(await bytes(encodeFailure(lost))).toBe(failure);
});

test('encodeStream: an exception ends the stream like an error', async () => {
  async function* broken(): AsyncGenerator<GenerationEvent> {
    yield start;
    throw lost;
  }
  expect(await bytes(encodeStream(broken()))).toBe(failure);
});

test('encodeStream: warnings are in the last frame', async () => {
  const stream = await bytes(encodeStream(play({ type: 'warning', code: 'cut', text: 'é was cut' }, finish('stop'))));
  expect(stream).toBe(
    'event: message\ndata: {"token": "", "finish_reason": "stop", "warnings": ["\\u00e9 was cut"]}\n\n',
  );
});

test('encodeReply: the sum of the events', async () => {
  const generation = await fold(play(start, text(' the'), text(' end.'), finish('stop')));
  expect(JSON.stringify(encodeReply(generation, { logprobs: false }))).toBe(
    '{"results":[{"text":" the end.","tool_calls":[],"finish_reason":"stop","logprobs":null,"prompt_tokens":12,"completion_tokens":4}]}',
  );
});

test('encodeEmptyReply: an empty text with the error', () => {
  const missing = new AppError('model-missing', { capability: 'text', flag: '--model' });
  expect(encodeEmptyReply(missing)).toEqual({
    results: [
      {
        text: '',
        tool_calls: [],
        finish_reason: 'error',
        logprobs: null,
        prompt_tokens: 0,
        completion_tokens: 0,
        error: { message: missing.message, type: 'service_unavailable' },
      },
    ],
  });
});

test('encodeLogprobs: six lists of equal length, floored, with running offsets', async () => {
  const choice = (token: number, piece: string, logprob: number) => ({
    token,
    text: piece,
    bytes: [...Buffer.from(piece)],
    logprob,
  });
  const generation = await fold(
    play(
      {
        type: 'text-delta',
        text: '🙂',
        logprobs: [{ ...choice(7, '🙂', -0.5), top: [choice(7, '🙂', -0.5), choice(8, 'b', -50)] }],
      },
      { type: 'text-delta', text: 'b', logprobs: [{ ...choice(8, 'b', 0), top: [] }] },
      finish('stop'),
    ),
  );
  const floor = Math.log(0.0001);
  const smile = { token: '🙂', token_id: 7, logprob: -0.5, bytes: [240, 159, 153, 130] };
  const b = { token: 'b', token_id: 8, logprob: 0, bytes: [98] };
  expect(encodeReply(generation, { logprobs: true })).toMatchObject({
    results: [
      {
        logprobs: {
          content: [
            { ...smile, top_logprobs: [smile, { ...b, logprob: floor }] },
            { ...b, top_logprobs: [] },
          ],
          tokens: ['🙂', 'b'],
          token_ids: [7, 8],
          token_logprobs: [-0.5, 0],
          top_logprobs: [{ '🙂': -0.5, b: floor }, {}],
          text_offset: [0, 1],
        },
      },
    ],
  });
});

const choice = (token: number, text: string, logprob: number) => ({
  token,
  text,
  logprob,
  bytes: [...Buffer.from(text)],
});

test('encodeLogprobs: a token in the forms of all dialects', () => {
  const token = { ...choice(5, 'Hé', -0.5), top: [choice(5, 'Hé', -0.5), choice(6, 'Hi', -1)] };
  expect(encodeLogprobs([token])).toEqual({
    content: [
      {
        token: 'Hé',
        token_id: 5,
        logprob: -0.5,
        bytes: [72, 195, 169],
        top_logprobs: [
          { token: 'Hé', token_id: 5, logprob: -0.5, bytes: [72, 195, 169] },
          { token: 'Hi', token_id: 6, logprob: -1, bytes: [72, 105] },
        ],
      },
    ],
    tokens: ['Hé'],
    token_ids: [5],
    token_logprobs: [-0.5],
    top_logprobs: [{ Hé: -0.5, Hi: -1 }],
    text_offset: [0],
  });
});

test('encodeLogprobs: offsets count characters, not UTF-16 units', () => {
  const tokens = ['a', '😀', 'bc'].map((text, index) => ({ ...choice(index, text, -1), top: [] }));
  expect(encodeLogprobs(tokens)).toMatchObject({ text_offset: [0, 1, 2] });
});

test('encodeLogprobs: floors at one in ten thousand, with ten alternatives', () => {
  const top = Array.from({ length: 20 }, (_, token) => choice(token, `t${token}`, -50));
  const told = encodeLogprobs([{ ...choice(1, 'x', Number.NEGATIVE_INFINITY), top }]) as Record<string, never[]>;
  expect(told.token_logprobs).toEqual([Math.log(0.0001)]);
  expect(Object.values(told.top_logprobs?.[0] ?? {})).toEqual(Array.from({ length: 10 }, () => Math.log(0.0001)));
  expect(JSON.stringify(told)).not.toContain('null');
});

test('encodeLogprobs: empty lists without tokens', () => {
  expect(encodeLogprobs([])).toEqual({
    content: [],
    tokens: [],
    token_ids: [],
    token_logprobs: [],
    top_logprobs: [],
    text_offset: [],
  });
});
