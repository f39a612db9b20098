import { describe, expect, test } from 'vitest';
import type { SpeechRequest } from '../../core/speech.ts';
import type { TranscriptionEvent, TranscriptionRequest } from '../../core/transcription.ts';
import { identifySound, RemoteSpeech, RemoteTranscription, soundSeconds } from './audio.ts';
import { poolOf } from './testing/backend-pool.ts';
import { type Handler, json, upstream } from './testing/upstream.ts';

async function collected<Event>(events: AsyncIterable<Event>): Promise<Event[]> {
  const all: Event[] = [];
  for await (const event of events) all.push(event);
  return all;
}

const never = new AbortController().signal;
const parts = { name: 'sound', model: undefined };

async function poolOn(handlers: Readonly<Record<string, Handler>>) {
  const one = await upstream(handlers);
  const { pool } = poolOf([one.address()], {}, (connection) => identifySound(connection, 'default'));
  await pool.start();
  return { one, pool };
}

/** A second of silence at 8 kHz, 16 bits. */
function wav(): Buffer {
  const header = Buffer.alloc(44);
  header.write('RIFF', 0);
  header.writeUInt32LE(16_000, 28);
  return Buffer.concat([header, Buffer.alloc(16_000)]);
}

const speech: SpeechRequest = {
  text: 'Hello',
  voice: 'nova',
  speed: 1,
  language: '',
  instruction: 'calm',
  seed: 0,
  format: 'wav',
  streamed: false,
};

describe('RemoteSpeech', () => {
  test('asks /v1/audio/speech and passes the file on with its length', async () => {
    const { one, pool } = await poolOn({ '/v1/audio/speech': (_, response) => void response.end(wav()) });
    const events = await collected(new RemoteSpeech(pool, parts).speak(speech, never));
    expect(events).toEqual([
      { type: 'start', notes: [] },
      { type: 'audio', bytes: wav() },
      { type: 'finish', seconds: 1 },
    ]);
    expect(one.asked('/v1/audio/speech')[0]?.body).toEqual({
      model: 'default',
      input: 'Hello',
      voice: 'nova',
      speed: 1,
      response_format: 'wav',
      instructions: 'calm',
    });
  });

  test('an answer that is no sound is an error of the backend', async () => {
    const { pool } = await poolOn({ '/v1/audio/speech': json({ ok: true }) });
    await expect(collected(new RemoteSpeech(pool, parts).speak(speech, never))).rejects.toMatchObject({
      code: 'remote-answer',
    });
  });

  test('lists the voices of the backend, or those of OpenAI', async () => {
    const { pool } = await poolOn({ '/v1/audio/voices': json({ voices: ['af_sky', { id: 'bm_lewis' }] }) });
    expect((await new RemoteSpeech(pool, parts).voices()).map(({ name }) => name)).toEqual(['af_sky', 'bm_lewis']);
    const { pool: other } = await poolOn({});
    expect((await new RemoteSpeech(other, parts).voices())[0]?.name).toBe('alloy');
  });
});

test.each([
  ['pcm', Buffer.alloc(48_000), 1],
  ['mp3', Buffer.concat([Buffer.from([0xff, 0xfb, 0x90, 0]), Buffer.alloc(15_996)]), 1],
  ['opus', Buffer.concat([Buffer.from('OggS\0\0'), Buffer.from([0x80, 0xbb, 0, 0, 0, 0, 0, 0])]), 1],
] as const)('soundSeconds: %s', (format, bytes, seconds) => {
  expect(soundSeconds(bytes, format)).toBeCloseTo(seconds);
});

const recording: TranscriptionRequest = {
  recording: wav(),
  language: 'de',
  translate: false,
  prompt: 'Parley',
  temperature: 0,
  words: true,
  suppressNonSpeech: false,
};
const verbose = {
  text: 'Guten Tag.',
  language: 'german',
  duration: 1.5,
  segments: [{ start: 0, end: 1.5, text: 'Guten Tag.', avg_logprob: -0.1 }],
  words: [{ word: 'Guten', start: 0, end: 0.5 }],
};
const heard = (pool: ConstructorParameters<typeof RemoteTranscription>[0]): Promise<TranscriptionEvent[]> =>
  collected(new RemoteTranscription(pool, parts).transcribe(recording, never));

describe('RemoteTranscription', () => {
  test('uploads the recording and returns segments with the times of words', async () => {
    const { pool } = await poolOn({ '/v1/audio/transcriptions': json(verbose) });
    const words = [{ word: 'Guten', start: 0, end: 0.5 }];
    expect(await heard(pool)).toEqual([
      { type: 'start', seconds: 1.5 },
      { type: 'segment', segment: { start: 0, end: 1.5, text: 'Guten Tag.', averageLogprob: -0.1, words } },
      { type: 'finish', seconds: 1.5, language: 'de', notes: [] },
    ]);
  });

  test('a backend without times is asked for the text alone', async () => {
    const { pool } = await poolOn({
      '/v1/audio/transcriptions': (received, response) =>
        String(received.body).includes('verbose_json')
          ? json({ error: 'no such format' }, 400)(received, response)
          : json({ text: 'Guten Tag.' })(received, response),
    });
    expect(await heard(pool)).toContainEqual({
      type: 'segment',
      segment: { start: 0, end: 0, text: 'Guten Tag.', words: [] },
    });
  });

  test('whisper-server is asked at its own path', async () => {
    const { pool } = await poolOn({
      '/': (_, response) => void response.end('<title>Whisper.cpp Server</title>'),
      '/inference': json(verbose),
    });
    expect((await heard(pool)).at(-1)).toMatchObject({ type: 'finish', language: 'de' });
  });

  test('an answer without text is an error of the backend', async () => {
    const { pool } = await poolOn({ '/v1/audio/transcriptions': json({ ok: true }) });
    await expect(heard(pool)).rejects.toMatchObject({ code: 'remote-answer' });
  });
});
