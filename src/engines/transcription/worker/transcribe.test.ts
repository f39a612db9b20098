import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { quietFlac } from '../../../audio/testing/encoded.ts';
import { sine, wavFile } from '../../../audio/testing/waves.ts';
import type { TranscriptionEvent } from '../../../core/transcription.ts';
import type { Span } from '../cut.ts';
import type { TranscriptionTask } from '../host.ts';
import type { Recogniser, Transcript } from '../recogniser.ts';
import { plainTask } from '../testing/task.ts';
import { quietestOffset, transcribe } from './transcribe.ts';
import type { Activity } from './voice-activity.ts';

const rate = 16_000;

interface Scene {
  readonly seconds?: number;
  /** In seconds. */
  readonly speech?: readonly (readonly [number, number])[];
  readonly task?: Partial<TranscriptionTask>;
  readonly recogniseChunks?: (seconds: number, count: number) => Transcript;
  readonly recording?: Uint8Array;
  readonly stopAfter?: number;
  readonly recogniser?: Partial<Recogniser>;
  readonly bufferSeconds?: number;
}

async function play(scene: Scene) {
  const {
    seconds = 10,
    speech = [[1, 3]],
    task = {},
    recogniseChunks = () => ({ text: 'Hello there.', language: 'en' }),
  } = scene;
  const events: TranscriptionEvent[] = [];
  const lengths: number[] = [];
  const bounds: number[] = [];
  const stop = new AbortController();
  const recogniser: Recogniser = {
    facts: { name: 'ear', languages: ['en', 'fr'], translates: false },
    maxChunkSeconds: 5,
    timeoutMs: (length) => 1000 * length,
    notes: ({ prompt }) => (prompt === '' ? [] : ['prompt has no effect']),
    recognise: async (samples) => {
      lengths.push(samples.length / rate);
      if (lengths.length === scene.stopAfter) stop.abort(new Error('gone'));
      return recogniseChunks(samples.length / rate, lengths.length);
    },
    ...scene.recogniser,
  };
  const voice = {
    async *listen(sound: AsyncIterable<Float32Array>): AsyncGenerator<Activity> {
      const spans = speech.map(([start, end]) => ({ start: start * rate, end: end * rate }));
      let transcript = 0;
      for await (const { length } of sound) {
        transcript += length;
        const over: Span[] = [];
        while (spans[0] && spans[0].end <= transcript) over.push(spans.shift() as Span);
        yield { spans: over, settled: Math.min(transcript, spans[0]?.start ?? transcript) };
      }
      yield { spans, settled: transcript };
    },
  };
  const watch = {
    here: <Result>(_: number, work: () => Result): Result => work(),
    aside: <Result>(bound: number, work: () => Promise<Result>): Promise<Result> => {
      bounds.push(bound);
      return work();
    },
  };
  const recording = scene.recording ?? wavFile([sine(200, rate, seconds)], rate);
  const tools = {
    emit: (event: TranscriptionEvent) => void events.push(event),
    drained: async () => {},
    signal: stop.signal,
    watch,
  };
  const error = await transcribe(recording, { ...plainTask, ...task }, tools, {
    recogniser,
    voice,
    ...(scene.bufferSeconds ? { bufferSeconds: scene.bufferSeconds } : {}),
  }).catch((thrown: unknown) => thrown as Error);
  return { events, lengths, bounds, error, types: events.map(({ type }) => type) };
}

test('transcribe: sends the duration, timed segments, progress and finish', async () => {
  const { events } = await play({ recogniseChunks: () => ({ text: 'One two. Three.', language: 'en' }) });
  expect(events).toMatchObject([
    { type: 'start', seconds: 10 },
    { type: 'segment', segment: { start: 1, text: ' One two.' } },
    { type: 'segment', segment: { end: 3, text: ' Three.' } },
    { type: 'progress', fraction: 0.34 },
    { type: 'finish', seconds: 10, language: 'en', notes: [] },
  ]);
});

test('transcribe: silence has no segments and is not recognised', async () => {
  const { types, lengths } = await play({ speech: [] });
  expect(types).toEqual(['start', 'finish']);
  expect(lengths).toEqual([]);
});

test('transcribe: long speech is recognised in chunks, each with its time-out', async () => {
  const { lengths, bounds, events } = await play({ seconds: 20, speech: [[1, 15]] });
  expect(lengths.length).toBeGreaterThan(2);
  expect(Math.max(...lengths)).toBeLessThanOrEqual(5);
  expect(bounds).toEqual(lengths.map((length) => length * 1000));
  const starts = events.flatMap((event) => (event.type === 'segment' ? [event.segment.start] : []));
  expect([...starts].sort((a, b) => a - b)).toEqual(starts);
});

test.each([
  [true, [2.8, 2]],
  [false, [2.8]],
])(
  'transcribe: a chunk in which nothing is heard is tried without its margins, if that helps (%s)',
  async (missesShortSpeech, expected) => {
    const recogniseChunks = (_: number, count: number) => ({ text: count === 1 ? ' ' : 'Hello.', language: 'en' });
    const { events, lengths } = await play({ recogniseChunks, recogniser: { missesShortSpeech } });
    expect(lengths).toEqual(expected);
    const texts = events.flatMap((event) => (event.type === 'segment' ? [event.segment.text.trim()] : []));
    expect(texts.filter(Boolean)).toEqual(missesShortSpeech ? ['Hello.'] : []);
  },
);

test('transcribe: recognises the speech with its margins', async () => {
  expect((await play({ speech: [[2, 3]] })).lengths[0]).toBeCloseTo(1.8, 5);
  expect((await play({ speech: [[9.5, 11]] })).lengths[0]).toBeCloseTo(0.9, 5);
});

describe('transcribe: recording beyond the buffer', () => {
  /** Each second is as loud as it is late. */
  function staircase(seconds: number): Uint8Array {
    const samples = new Float32Array(rate * seconds);
    for (let second = 0; second < seconds; second++) samples.fill(second / 100, second * rate, (second + 1) * rate);
    return wavFile([samples], rate);
  }

  test('is decoded twice, and each chunk has the audio of its time', async () => {
    const transcript: number[] = [];
    const speech = [
      [2, 4],
      [30, 33],
      [56, 58],
    ] as const;
    const recogniser: Partial<Recogniser> = {
      recognise: async (samples) => {
        transcript.push(Math.round((samples[samples.length >> 1] ?? 0) * 100));
        return { text: 'Yes.', language: 'en' };
      },
    };
    const { events, types } = await play({ recording: staircase(60), bufferSeconds: 10, speech, recogniser });
    expect(transcript).toEqual([3, 31, 57]);
    expect(events[0]).toEqual({ type: 'start', seconds: expect.closeTo(60, 6) });
    expect(types.filter((type) => type === 'segment')).toHaveLength(3);
  });

  test('of silence has no segments', async () => {
    const recording = quietFlac({ frames: 50, promised: 0 });
    const { events, error } = await play({ recording, speech: [], bufferSeconds: 10 });
    expect(error).toBeUndefined();
    expect(events).toMatchObject([
      { type: 'start', seconds: expect.closeTo((50 * 65_535) / rate, 6) },
      { type: 'finish' },
    ]);
  });

  test('of ten hours is rejected at once, with the limit', async () => {
    const { error, types } = await play({ recording: quietFlac({ frames: 8790 }) });
    expect(error?.message).toMatch(/at most 3 hours, and this one is 10.0 hours long/);
    expect(types).toEqual([]);
  });
});

test('transcribe: has word times only on request', async () => {
  const [, requested] = (await play({ task: { words: true } })).events;
  expect(requested).toMatchObject({
    segment: {
      words: [
        { word: 'Hello', start: 1 },
        { word: 'there.', end: 3 },
      ],
    },
  });
  const [, unasked] = (await play({})).events;
  expect(unasked).toEqual({ type: 'segment', segment: expect.not.objectContaining({ words: expect.anything() }) });
});

test('transcribe: keeps the times of the recogniser', async () => {
  const words = [{ word: 'Hi', start: 0.5, end: 0.75 }];
  const transcript = { text: 'Hi', language: 'en', segments: [{ start: 0.5, end: 0.75, text: ' Hi', words }] };
  const { events } = await play({ speech: [[2, 3]], task: { words: true }, recogniseChunks: () => transcript });
  expect(events[1]).toEqual({
    type: 'segment',
    segment: { start: 2.1, end: 2.35, text: ' Hi', words: [{ word: 'Hi', start: 2.1, end: 2.35 }] },
  });
});

test('transcribe: the language is the requested one or the first detected one', async () => {
  const recogniseChunks = (_: number, count: number): Transcript => ({
    text: 'x',
    language: count === 1 ? 'fr' : 'en',
  });
  const speech = [
    [1, 2],
    [6, 7],
  ] as const;
  expect((await play({ recogniseChunks, speech })).events.at(-1)).toMatchObject({ language: 'fr' });
  expect((await play({ recogniseChunks, speech, task: { language: 'en' } })).events.at(-1)).toMatchObject({
    language: 'en',
  });
});

test('transcribe: finish has the notes of the recogniser', async () => {
  expect((await play({ task: { prompt: 'Names: Ann' } })).events.at(-1)).toMatchObject({
    notes: ['prompt has no effect'],
  });
});

test('transcribe: an abort takes effect between two chunks', async () => {
  const { error, lengths, types } = await play({ seconds: 40, speech: [[1, 30]], stopAfter: 2 });
  expect(error).toMatchObject({ message: 'gone' });
  expect(lengths).toHaveLength(2);
  expect(types).not.toContain('finish');
});

describe('transcribe: rejected before decoding', () => {
  const broken = Buffer.from('no sound at all');

  test('unknown language', async () => {
    const { error, types } = await play({ task: { language: 'de' }, recording: broken });
    expect(error).toMatchObject({ status: 400, details: { field: 'language' } });
    expect(error?.message).toMatch(
      /"de" is not possible: ear cannot do that; run parley pack add ears, or start the server with --whispermodel/,
    );
    expect(types).toEqual([]);
  });

  test('translation without support', async () => {
    const facts = { name: 'ear', languages: ['en', 'fr'], translates: false };
    const { error } = await play({ task: { translate: true }, recording: broken, recogniser: { facts } });
    expect(error?.message).toMatch(/Translation is not possible: ear cannot do that.*--whispermodel/);
  });

  test('translation of another language with an English-only recogniser', async () => {
    const facts = { name: 'ear', languages: ['en'], translates: false };
    const task = { translate: true, language: 'de' };
    const { error } = await play({ task, recording: broken, recogniser: { facts } });
    expect(error).toMatchObject({ status: 400, details: { field: 'language' } });
    expect(error?.message).toMatch(/"de" is not possible: ear hears English only.*--whispermodel/);
  });

  test('not rejected with a multilingual one', async () => {
    const facts = { name: 'ear', languages: ['en', 'de'], translates: true };
    const { events } = await play({ task: { translate: true, language: 'de' }, recogniser: { facts } });
    expect(events.at(-1)).toMatchObject({ type: 'finish', language: 'de' });
  });
});

test.each([undefined, 'en'])(
  'transcribe: a translation by a recogniser that hears English only is the transcription, with a note (%s)',
  async (language) => {
    const facts = { name: 'ear', languages: ['en'], translates: false };
    const { events, error } = await play({ task: { translate: true, language }, recogniser: { facts } });
    expect(error).toBeUndefined();
    expect(events.at(-1)).toMatchObject({
      type: 'finish',
      language: 'en',
      notes: [expect.stringMatching(/^ear hears English only/)],
    });
  },
);

test('transcribe: rejects a file that is not audio, and names its type', async () => {
  const { error, types } = await play({ recording: Buffer.from('no sound at all') });
  expect(error).toMatchObject({ status: 400, message: expect.stringContaining('this is text') });
  expect(types).toEqual([]);
});

test('quietestPlace: is the middle of the quietest frame', () => {
  const samples = new Float32Array(1000).fill(0.5);
  samples.fill(0.01, 400, 440);
  expect(quietestOffset(samples, 100, 900, 20)).toBe(430);
});

test('quietestPlace: is the last of equally quiet frames', () => {
  expect(quietestOffset(new Float32Array(1000), 100, 900, 20)).toBe(890);
});

test('quietestPlace: is the end without a whole frame', () => {
  expect(quietestOffset(new Float32Array(1000), 100, 110, 20)).toBe(110);
});

test('quietestPlace: is within the range, also beyond the end of the samples', () => {
  fc.assert(
    fc.property(fc.nat(300), fc.nat(300), fc.integer({ min: 1, max: 50 }), (from, more, frame) => {
      const samples = Float32Array.from({ length: 200 }, (_, index) => Math.sin(index));
      const offset = quietestOffset(samples, from, from + more, frame);
      expect(offset).toBeGreaterThanOrEqual(from);
      expect(offset).toBeLessThanOrEqual(from + more);
    }),
  );
});
