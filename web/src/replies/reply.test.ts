import { describe, expect, test } from 'vitest';
import { namesReplies, noReply, statisticsOf, type WireReply, withPiece } from './reply.ts';

const delta = (more: object, finish: string | null = null): WireReply => ({
  choices: [{ delta: more, finish_reason: finish }],
});
const folded = (...pieces: WireReply[]) => pieces.reduce(withPiece, noReply);

describe('withPiece', () => {
  test('adds all chunks', () => {
    const reply = folded(
      delta({ role: 'assistant', content: '' }),
      delta({ reasoning_content: 'Hm' }),
      delta({ reasoning_content: '.' }),
      delta({ content: 'Hel' }),
      delta({ content: 'lo' }),
      delta({}, 'stop'),
      {
        model: 'mini',
        choices: [],
        usage: { prompt_tokens: 9, completion_tokens: 4 },
        timings: { predicted_per_second: 50 },
      },
    );
    expect(reply).toMatchObject({
      text: 'Hello',
      reasoning: 'Hm.',
      finish: 'stop',
      model: 'mini',
      promptTokens: 9,
      tokens: 4,
      perSecond: 50,
    });
  });

  test('joins the parts of several tool calls', () => {
    const call = (index: number, id: string | undefined, name: string | undefined, part: string) =>
      delta({
        tool_calls: [{ index, ...(id ? { id } : {}), function: { ...(name ? { name } : {}), arguments: part } }],
      });
    const { calls } = folded(
      call(0, 'k1', 'clock', '{"zo'),
      call(0, undefined, undefined, 'ne":1}'),
      call(1, 'k2', 'dice', '{}'),
    );
    expect(calls).toEqual([
      { id: 'k1', name: 'clock', arguments: '{"zone":1}' },
      { id: 'k2', name: 'dice', arguments: '{}' },
    ]);
  });

  test('returns token probabilities', () => {
    const top_logprobs = [
      { token: 'a', logprob: 0 },
      { token: 'b', logprob: Math.log(0.25) },
    ];
    const content = [{ token: 'b', logprob: Math.log(0.25), top_logprobs }];
    const { chances } = folded({ choices: [{ delta: { content: 'b' }, logprobs: { content } }] });
    expect(chances[0]?.probability).toBeCloseTo(0.25);
    expect(chances[0]?.others.map(({ token }) => token)).toEqual(['a', 'b']);
  });

  test.each([
    [{ error: { message: 'The model failed.' } }, 'The model failed.'],
    [{ error: 'full' }, 'full'],
    [{ error: {} }, 'The server could not finish the reply.'],
  ])('keeps its text when it fails with %j', (piece, failed) => {
    expect(folded(delta({ content: 'So' }), piece)).toMatchObject({ text: 'So', finish: 'error', failed });
  });
});

describe('statisticsOf', () => {
  test('uses the values of the server', () => {
    const reply = { ...noReply, text: 'Hi', tokens: 10, promptTokens: 5, perSecond: 33 };
    expect(statisticsOf(reply, { startedAt: 100, firstAt: 350, endedAt: 900 })).toEqual({
      tokens: 10,
      promptTokens: 5,
      perSecond: 33,
      firstTokenMs: 250,
    });
  });

  test('measures values that the server does not report', () => {
    const clock = { startedAt: 0, firstAt: 1000, endedAt: 3000 };
    expect(statisticsOf({ ...noReply, text: 'Hi', tokens: 10 }, clock).perSecond).toBe(5);
    expect(statisticsOf(noReply, { startedAt: 5, firstAt: undefined, endedAt: 5 })).toMatchObject({
      perSecond: 0,
      firstTokenMs: 0,
    });
  });

  test('counts the whole time of a tool call, which arrives at once', () => {
    const reply = { ...noReply, calls: [{ id: 'c', name: 'roll', arguments: '{}' }], tokens: 10 };
    expect(statisticsOf(reply, { startedAt: 0, firstAt: 1999, endedAt: 2000 })).toMatchObject({
      perSecond: 5,
      firstTokenMs: 0,
    });
  });
});

test('namesReplies: reads tokens of a stream', () => {
  const { withEvent, empty } = namesReplies;
  const events = ['{"token":"Hm"}', '{"token":"."}', '{"token":"","finish_reason":"stop"}'];
  expect(events.reduce(withEvent, empty)).toMatchObject({ text: 'Hm.', finish: 'stop' });
  expect(withEvent(empty, '{"finish_reason":"error","error":{"message":"Lost."}}')).toMatchObject({ failed: 'Lost.' });
});
