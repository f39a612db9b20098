import fc from 'fast-check';
import OpenAI, { toFile } from 'openai';
import { describe, expect, test } from 'vitest';
import { AppError } from '../../../core/errors.ts';
import { systemTimer } from '../../../core/timers.ts';
import type { TranscriptionEvent } from '../../../core/transcription.ts';
import { serve } from '../../../http/testing/world.ts';
import { fieldTables } from '../../fidelity/fidelity.ts';
import { bindAll } from '../../testing/bind.ts';
import { dialectParts, scriptedTranscription } from '../../testing/doubles.ts';
import { asking, type Proof, proveFidelity } from '../../testing/fidelity-proof.ts';
import { encodeTranscription, srtText, transcriptionEndpoints, vttText } from './transcription.ts';

const segments = [
  { start: 0, end: 1.5, text: ' Hello there.' },
  { start: 61.0005, end: 3723.9996, text: ' And\n\nagain --> so.' },
];

test('srtText: numbers cues from 1, with a comma before the thousandths', () => {
  expect(srtText(segments)).toBe(
    '1\n00:00:00,000 --> 00:00:01,500\nHello there.\n\n2\n00:01:01,001 --> 01:02:04,000\nAnd\nagain -> so.\n\n',
  );
});

test('vttText: starts with WEBVTT', () => {
  expect(vttText(segments.slice(0, 1))).toBe('WEBVTT\n\n00:00:00.000 --> 00:00:01.500\nHello there.\n\n');
});

test('srtText, vttText: no cue without segments', () => {
  expect(srtText([])).toBe('');
  expect(vttText([])).toBe('WEBVTT\n\n');
});

test('srtText: times are well-formed and never run backwards, for any segment', () => {
  const time = fc.double({ min: -5, max: 400_000, noNaN: true });
  fc.assert(
    fc.property(time, time, (start, end) => {
      const [, first = '', last = ''] =
        /^1\n(\d{2,}:[0-5]\d:[0-5]\d,\d{3}) --> (\d{2,}:[0-5]\d:[0-5]\d,\d{3})\nx\n\n$/.exec(
          srtText([{ start, end, text: 'x' }]),
        ) ?? [];
      expect(first).not.toBe('');
      expect(seconds(last)).toBeGreaterThanOrEqual(seconds(first));
    }),
  );
});

function seconds(clock: string): number {
  const [hours = 0, minutes = 0, rest = 0] = clock.replace(',', '.').split(':').map(Number);
  return hours * 3600 + minutes * 60 + rest;
}

const segment = (text: string): TranscriptionEvent => ({ type: 'segment', segment: { start: 0, end: 1, text } });

async function frames(events: readonly TranscriptionEvent[], error?: Error): Promise<readonly unknown[]> {
  async function* play() {
    yield* events;
    if (error) throw error;
  }
  let text = '';
  for await (const frame of encodeTranscription(play())) text += frame;
  return text
    .split('\n\n')
    .filter((frame) => frame !== '')
    .map((frame) => (frame === 'data: [DONE]' ? 'done' : JSON.parse(frame.replace(/^data: /, ''))));
}

const finish = (notes: readonly string[] = []) => ({ type: 'finish', seconds: 2.1, language: 'en', notes }) as const;

test('encodeTranscription: a delta per segment, then done, then [DONE]', async () => {
  expect(await frames([{ type: 'start', seconds: 2 }, segment(' One.'), segment(' Two.'), finish()])).toEqual([
    { type: 'transcript.text.delta', delta: 'One.' },
    { type: 'transcript.text.delta', delta: ' Two.' },
    { type: 'transcript.text.done', text: 'One. Two.', usage: { type: 'duration', seconds: 3 } },
    'done',
  ]);
});

test('encodeTranscription: warnings are in the done event', async () => {
  expect((await frames([finish(['prompt has no effect'])]))[0]).toMatchObject({ warnings: ['prompt has no effect'] });
});

test('encodeTranscription: a failure in mid-stream is the last event', async () => {
  const lost = new AppError('engine-lost', { capability: 'transcription' });
  const all = await frames([segment(' One.')], lost);
  expect(all).toMatchObject([{ delta: 'One.' }, { error: { type: 'server_error', message: lost.message } }, 'done']);
});

test('encodeTranscription: the deltas add up to the text, whatever the white space', async () => {
  const texts = fc.array(fc.stringMatching(/^ {0,2}[a-z]{0,3} {0,2}$/), { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(texts, async (list) => {
      const all = (await frames([...list.map(segment), finish()])) as { delta?: string; text?: string }[];
      expect(all.map(({ delta = '' }) => delta).join('')).toBe(all.at(-2)?.text);
    }),
  );
});

const words = [
  { word: 'Hello', start: 0.5, end: 1 },
  { word: 'there.', start: 1, end: 1.50049 },
];
const script: readonly TranscriptionEvent[] = [
  { type: 'start', seconds: 4.2 },
  { type: 'segment', segment: { start: 0.5, end: 1.50049, text: ' Hello there.', words } },
  { type: 'progress', fraction: 0.5 },
  {
    type: 'segment',
    segment: { start: 2, end: 4, text: ' Bye.', tokens: [5], averageLogprob: -0.2, noSpeechProbability: 0.1 },
  },
  { type: 'finish', seconds: 4.2, language: 'en', notes: [] },
];
const sound = Buffer.from('sound').toString('base64');
const path = '/v1/audio/transcriptions';

function world(events: readonly TranscriptionEvent[] | Error = script) {
  const { transcription, asked } = scriptedTranscription(events);
  const endpoints = bindAll(transcriptionEndpoints, {
    ...dialectParts(),
    taskServices: { transcription },
    startTimer: systemTimer,
  });
  return { endpoints, asked };
}

const ask = (events?: readonly TranscriptionEvent[] | Error, where = path) =>
  asking(() => world(events), 'POST', where);

async function client(events?: readonly TranscriptionEvent[] | Error) {
  const { endpoints, asked } = world(events);
  const server = await serve(endpoints);
  const openai = new OpenAI({ baseURL: `http://127.0.0.1:${server.port}/v1`, apiKey: 'none', maxRetries: 0 });
  const file = await toFile(Buffer.from('sound'), 'a.wav');
  return { openai, asked, file, server };
}

describe('transcriptions: official client', () => {
  test('sends a form and gets the text', async () => {
    const { openai, asked, file } = await client();
    const { text, usage } = await openai.audio.transcriptions.create({ file, model: 'whisper-1', language: 'en' });
    expect([text, usage]).toEqual(['Hello there. Bye.', { type: 'duration', seconds: 5 }]);
    expect(asked).toMatchObject([{ request: { recording: 'sound', language: 'en', translate: false } }]);
  });

  test('gets text, srt and vtt as strings', async () => {
    const { openai, file } = await client();
    const create = (response_format: 'text' | 'srt' | 'vtt') =>
      openai.audio.transcriptions.create({ file, model: 'm', response_format });
    expect(await create('text')).toBe('Hello there. Bye.\n');
    expect(await create('srt')).toMatch(/^1\n00:00:00,500 --> 00:00:01,500\nHello there\.\n\n2\n/);
    expect(await create('vtt')).toMatch(/^WEBVTT\n\n00:00:00\.500 --> /);
  });

  test('gets all keys of verbose_json', async () => {
    const { openai, asked, file } = await client();
    const verbose = await openai.audio.transcriptions.create({
      file,
      model: 'm',
      response_format: 'verbose_json',
      timestamp_granularities: ['word', 'segment'],
    });
    expect(verbose).toMatchObject({
      task: 'transcribe',
      language: 'english',
      duration: 4.2,
      text: 'Hello there. Bye.',
    });
    expect(verbose.segments).toEqual([
      {
        id: 0,
        seek: 50,
        start: 0.5,
        end: 1.5,
        text: ' Hello there.',
        tokens: [],
        temperature: 0,
        avg_logprob: 0,
        compression_ratio: expect.any(Number),
        no_speech_prob: 0,
      },
      expect.objectContaining({ id: 1, tokens: [5], avg_logprob: -0.2, no_speech_prob: 0.1 }),
    ]);
    expect(verbose.words).toEqual([words[0], { word: 'there.', start: 1, end: 1.5 }]);
    expect(asked).toMatchObject([{ request: { words: true } }]);
  });

  test('reads a stream', async () => {
    const { openai, file } = await client();
    const events: string[] = [];
    for await (const event of await openai.audio.transcriptions.create({ file, model: 'm', stream: true })) {
      events.push(event.type === 'transcript.text.delta' ? event.delta : event.type);
    }
    expect(events).toEqual(['Hello there.', ' Bye.', 'transcript.text.done']);
  });

  test('gets a translation', async () => {
    const { openai, asked, file } = await client();
    expect((await openai.audio.translations.create({ file, model: 'm' })).text).toBe('Hello there. Bye.');
    expect(asked).toMatchObject([{ request: { translate: true, language: undefined, words: false } }]);
    const spoken = { file, model: 'm', language: 'german' };
    await openai.audio.translations.create(spoken);
    expect(asked[1]).toMatchObject({ request: { translate: true, language: 'de' } });
  });

  test('gets errors of the recording with their status, also for a stream', async () => {
    const error = new AppError('invalid-field', { field: 'file', expected: 'a recording, and this is text' });
    const { openai, file } = await client(error);
    const refusal = { status: 400, param: 'file', message: expect.stringContaining('and this is text') };
    await expect(openai.audio.transcriptions.create({ file, model: 'm' })).rejects.toMatchObject(refusal);
    await expect(openai.audio.transcriptions.create({ file, model: 'm', stream: true })).rejects.toMatchObject(refusal);
  });

  test('throws the error of a stream that fails', async () => {
    const { openai, file } = await client();
    const { transcription } = scriptedTranscription(script.slice(0, 2));
    const broken = {
      ...transcription,
      async *transcribe(): AsyncGenerator<TranscriptionEvent> {
        yield* script.slice(0, 2);
        throw new AppError('engine-lost', { capability: 'transcription' });
      },
    };
    const server = await serve(
      bindAll(transcriptionEndpoints, { ...dialectParts(), taskServices: { transcription: broken } }),
    );
    const other = openai.withOptions({ baseURL: `http://127.0.0.1:${server.port}/v1` });
    const stream = await other.audio.transcriptions.create({ file, model: 'm', stream: true });
    const read = async () => {
      for await (const event of stream) expect(event.type).toBe('transcript.text.delta');
    };
    await expect(read()).rejects.toThrow(/engine stopped in the middle/);
  });
});

describe('verbose_json', () => {
  const verbose = async (body: object) =>
    JSON.parse((await ask()({ file: sound, response_format: 'verbose_json', ...body })).reply);

  test('has segments unless only words are requested', async () => {
    expect(Object.keys(await verbose({}))).toEqual(['task', 'language', 'duration', 'text', 'segments', 'usage']);
    expect(Object.keys(await verbose({ timestamp_granularities: ['word'] }))).not.toContain('segments');
    expect(Object.keys(await verbose({ timestamp_granularities: ['segment'] }))).not.toContain('words');
  });

  test('has language english for a translation', async () => {
    const german = [...script.slice(0, 4), { type: 'finish', seconds: 4.2, language: 'de', notes: [] } as const];
    const body = { file: sound, response_format: 'verbose_json' };
    const reply = JSON.parse((await ask(german, '/v1/audio/translations')(body)).reply);
    expect([reply.task, reply.language]).toEqual(['translate', 'english']);
    expect(JSON.parse((await ask(german)(body)).reply).language).toBe('german');
  });

  test('has a high compression_ratio for repeated text', async () => {
    const text = ' no'.repeat(100);
    const looping: readonly TranscriptionEvent[] = [
      { type: 'segment', segment: { start: 0, end: 1, text } },
      { type: 'finish', seconds: 1, language: 'en', notes: [] },
    ];
    const reply = JSON.parse((await ask(looping)({ file: sound, response_format: 'verbose_json' })).reply);
    expect(reply.segments[0].compression_ratio).toBeGreaterThan(5);
  });
});

describe('transcriptions: content-type', () => {
  test.each([
    ['json', 'application/json'],
    ['verbose_json', 'application/json'],
    ['text', 'text/plain; charset=utf-8'],
    ['srt', 'text/plain; charset=utf-8'],
    ['vtt', 'text/vtt; charset=utf-8'],
  ])('of %s is %s', async (response_format, type) => {
    expect((await ask()({ file: sound, response_format })).headers).toMatchObject({ 'content-type': type });
  });
});

test('transcriptions: x-parley-ignored names fields without effect, x-parley-warnings the notes', async () => {
  const finish = {
    type: 'finish',
    seconds: 4.2,
    language: 'en',
    notes: ['prompt has no effect: none is taken'],
  } as const;
  const { headers } = await ask([finish])({ file: sound });
  expect(headers).toMatchObject({ 'x-parley-warnings': 'prompt has no effect: none is taken' });
});

test('transcriptions: a silent recording has an empty text in every format', async () => {
  const silence: readonly TranscriptionEvent[] = [{ type: 'finish', seconds: 3, language: 'en', notes: [] }];
  const reply = async (response_format: string) => (await ask(silence)({ file: sound, response_format })).reply;
  expect(JSON.parse(await reply('json'))).toMatchObject({ text: '' });
  expect(JSON.parse(await reply('verbose_json'))).toMatchObject({ text: '', segments: [] });
  expect([await reply('text'), await reply('srt'), await reply('vtt')]).toEqual(['\n', '', 'WEBVTT\n\n']);
});

test.each([
  [{ file: sound, response_format: 'diarized_json' }, 'response_format', /no speaker diarization/],
  [{ file: sound, response_format: 'mp3' }, 'response_format', /one of json, text, srt/],
  [{ file: sound, timestamp_granularities: ['letter'] }, 'timestamp_granularities', /word, segment, or both/],
  [{ file: sound, language: 'klingon' }, 'language', /auto, or a language/],
  [{ file: sound, stream: 'maybe' }, 'stream', /true or false/],
  [{ file: 'nonsense!' }, 'file', /a recording in base64/],
  [{}, 'file', /a recording/],
])('transcriptions: rejects %o', async (body, param, message) => {
  const { status, reply, asked } = await ask()(body);
  expect(status).toBe(400);
  expect(JSON.parse(reply)).toMatchObject({
    error: { type: 'invalid_request_error', param, message: expect.stringMatching(message) },
  });
  expect(asked).toEqual([]);
});

test('transcriptions: 503 without retry-after if there is no recogniser', async () => {
  const seen = await asking(
    () => ({ endpoints: bindAll(transcriptionEndpoints, dialectParts()), asked: [] }),
    'POST',
    path,
  )({ file: sound });
  expect([seen.status, seen.headers['x-should-retry']]).toEqual([503, 'false']);
});

test.each([
  '/v1/audio/transcriptions',
  '/audio/transcriptions',
  '/v1/audio/translations',
  '/audio/translations',
  '/x/v1/audio/translations',
])('transcriptions: %s is served', async (where) => {
  expect((await ask(script, where)({ file: sound })).status).toBe(200);
});

const request = (value: object): object => ({ request: value });
const common: Readonly<Record<string, Proof>> = {
  language: { send: { language: 'en-US' }, asks: request({ language: 'en' }), refuses: [{ language: 'klingon' }] },
  langcode: { beside: { language: 'en' }, send: { langcode: 'de' }, asks: request({ language: 'de' }) },
  file: { send: { file: Buffer.from('other').toString('base64') }, asks: request({ recording: 'other' }) },
  audio_data: {
    send: { file: undefined, audio_data: Buffer.from('more').toString('base64') },
    asks: request({ recording: 'more' }),
  },
  prompt: { send: { prompt: 'Names: Ann' }, asks: request({ prompt: 'Names: Ann' }) },
  temperature: { send: { temperature: '0.5' }, asks: request({ temperature: 0.5 }) },
  suppress_non_speech: { send: { suppress_non_speech: true }, asks: request({ suppressNonSpeech: true }) },
  genkey: { send: { genkey: 'K1' }, asks: { requestContext: { genkey: 'K1' } } },
  model: { send: { model: 'whisper-1' }, same: true },
  response_format: {
    send: { response_format: 'srt' },
    tells: /-->/,
    refuses: [{ response_format: 'diarized_json' }, { response_format: 'x' }],
  },
};
const transcription: Readonly<Record<string, Proof>> = {
  ...common,
  timestamp_granularities: {
    beside: { response_format: 'verbose_json' },
    send: { timestamp_granularities: ['word'] },
    asks: request({ words: true }),
    tells: /"words":\[/,
    refuses: [{ timestamp_granularities: ['letter'] }],
  },
  stream: { send: { stream: 'true' }, tells: /^data: / },
};

for (const table of fieldTables(transcriptionEndpoints)) {
  const [method = '', where = ''] = table.endpoint.split(' ');
  proveFidelity({
    table,
    base: { file: sound },
    ask: asking(world, method, where),
    proofs: where.endsWith('transcriptions') ? transcription : common,
    refusal: (reply) =>
      expect(reply).toMatchObject({ error: { message: expect.any(String), param: expect.any(String) } }),
  });
}
