import { describe, expect, test } from 'vitest';
import { base64Of, keyProtocol, readStep, samplesOf, stateAfter, type TalkState } from './events.ts';

const step = (event: object) => readStep(JSON.stringify(event));

describe('readStep', () => {
  test.each([
    [{ type: 'session.updated' }, { type: 'ready' }],
    [
      { type: 'conversation.item.input_audio_transcription.completed', transcript: ' Hello. ' },
      { type: 'heard', text: 'Hello.' },
    ],
    [
      { type: 'response.output_audio_transcript.delta', item_id: 'a', delta: 'Hi ' },
      { type: 'said', itemId: 'a', text: 'Hi ' },
    ],
    [
      { type: 'conversation.item.retrieved', item: { id: 'a', content: [{ transcript: 'Hi there ' }] } },
      { type: 'corrected', itemId: 'a', text: 'Hi there' },
    ],
    [{ type: 'response.done', response: { status: 'completed' } }, { type: 'answer-over' }],
    [
      { type: 'response.done', response: { status: 'failed', status_details: { error: { message: 'No voice.' } } } },
      { type: 'answer-over', failed: 'No voice.' },
    ],
    [
      { type: 'error', error: { message: 'No.' } },
      { type: 'failed', text: 'No.' },
    ],
  ])('%j: is %j', (event, expected) => expect(step(event)).toEqual(expected));

  test('an answer that was over before it could be stopped: is no failure', () => {
    expect(step({ type: 'error', error: { code: 'response_cancel_not_active', message: 'No.' } })).toBeUndefined();
  });

  test('other events and no JSON: are nothing', () => {
    expect([step({ type: 'rate_limits.updated' }), readStep('?'), readStep('null')]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});

describe('stateAfter', () => {
  const follow = (events: readonly object[], playing = false): TalkState[] => {
    let state: TalkState = 'connecting';
    return events.flatMap((event) => {
      const found = step(event);
      if (!found) return [];
      state = stateAfter(state, found, playing);
      return state;
    });
  };
  const started = { type: 'input_audio_buffer.speech_started' };
  const stopped = { type: 'input_audio_buffer.speech_stopped' };
  const heard = (transcript: string) => ({ type: 'conversation.item.input_audio_transcription.completed', transcript });

  test('a turn: hearing, thinking, speaking, listening', () => {
    const audio = { type: 'response.output_audio.delta', item_id: 'a', delta: '' };
    const done = { type: 'response.done', response: { status: 'completed' } };
    expect(
      follow([{ type: 'session.updated' }, started, stopped, heard('Hi'), { type: 'response.created' }, audio, done]),
    ).toEqual([...['listening', 'hearing', 'thinking', 'thinking', 'thinking', 'speaking', 'listening']]);
    expect(follow([audio, done], true)).toEqual(['speaking', 'speaking']);
  });

  test('noise: listens again', () => {
    expect(follow([started, stopped, heard('')])).toEqual(['hearing', 'thinking', 'listening']);
  });

  test('an interrupted answer: stays with the person who speaks', () => {
    const done = { type: 'response.done', response: { status: 'cancelled' } };
    expect(follow([started, done])).toEqual(['hearing', 'hearing']);
  });
});

test('samples: come back as they were', () => {
  const samples = Int16Array.of(0, 1, -1, 32_767, -32_768);
  expect(samplesOf(base64Of(samples))).toEqual(samples);
});

test('keyProtocol: has only characters that a subprotocol may have', () => {
  expect(keyProtocol('pässword, "x"?')).toMatch(/^parley-key\.[\w-]+$/);
});
