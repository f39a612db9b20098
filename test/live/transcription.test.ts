import { readdirSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import OpenAI, { toFile } from 'openai';
import { beforeAll, describe, expect, test } from 'vitest';
import { joined, silence, spoken } from '../../bench/spoken.ts';
import { flacFile, mp3File, mp4Of, mp4WithAac, opusFile, webmOf } from '../../src/audio/testing/encoded.ts';
import { wavFile } from '../../src/audio/testing/waves.ts';
import { isAlive } from './alive.ts';
import { type NativeClient, nativeClient } from './client.ts';
import { type LiveServer, liveServers } from './server.ts';

const startServer = liveServers();
const sentence = 'Good morning. The meeting begins at nine in the large room on the second floor.';
let server: LiveServer;
let native: NativeClient;
let openai: OpenAI;
let wav: Buffer;
/** More than a minute, with pauses. */
let long: Buffer;

beforeAll(async () => {
  server = await startServer();
  native = nativeClient(server.base);
  openai = new OpenAI({ baseURL: `${server.base}/v1`, apiKey: 'none', maxRetries: 0 });
  wav = wavFile([await spoken(sentence)], 16_000);
  const sentences = ['The first part is about the weather.', 'The second part is about the river.', sentence];
  const [first, second, third] = await Promise.all(sentences.map((text) => spoken(text)));
  const utterances = [first, second, third, first, second, first, second, first, second] as Float32Array[];
  long = wavFile([joined(utterances.flatMap((part) => [silence(4.5), part]))], 16_000);
});

/** How many of the words of one text are in the other: a small recogniser mishears some. */
function heardWords(text: string, reference = sentence): number {
  const words = (each: string): readonly string[] => each.toLowerCase().match(/[a-z]+/g) ?? [];
  const transcript = new Set(words(text));
  return words(reference).filter((word) => transcript.has(word)).length / words(reference).length;
}

const file = (bytes: Buffer, name = 'a.wav') => toFile(bytes, name);

async function transcribed(bytes: Buffer, name?: string): Promise<string> {
  return (await openai.audio.transcriptions.create({ file: await file(bytes, name), model: 'whisper-1' })).text;
}

/** Posts a form on a connection of its own, which can be cut at any moment. */
function openForm(path: string, bytes: Buffer, fields: Record<string, string>) {
  const boundary = 'parley-test';
  const texts = Object.entries(fields).map(
    ([name, value]) => `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  const head = `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="a.wav"\r\n\r\n`;
  const body = Buffer.concat([Buffer.from(texts.join('') + head), bytes, Buffer.from(`\r\n--${boundary}--\r\n`)]);
  const headers = { 'content-type': `multipart/form-data; boundary=${boundary}`, 'content-length': body.length };
  const request = httpRequest(`${server.base}${path}`, { method: 'POST', agent: false, headers });
  let text = '';
  let [begin, end]: (() => void)[] = [];
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const over = new Promise<void>((resolve) => {
    end = resolve;
  });
  request.on('error', () => undefined).once('close', () => end?.());
  request.on('response', (response) => {
    response.setEncoding('utf8').on('error', () => undefined);
    response.on('data', (piece: string) => {
      text += piece;
      if (text.includes('transcript.text.delta')) begin?.();
    });
  });
  request.end(body);
  return { begun, over, text: () => text, hangUp: () => request.destroy() };
}

/** The process that listens, as the system shows it: the text engine was started before it. */
async function listener(): Promise<number> {
  await transcribed(wav);
  const pid = server.worker('transcription');
  if (pid === undefined) throw new Error('nobody listens');
  return pid;
}

test('transcription: is reported before its model is loaded', async () => {
  expect((await native.get('/api/extra/version')).json()).toMatchObject({ transcribe: true });
  expect((await native.get('/v1/audio/models')).json()).toMatchObject({
    models: expect.arrayContaining([{ id: 'moonshine-tiny', languages: ['en'] }]),
  });
  expect(server.output()).not.toContain('Loaded moonshine-tiny');
});

describe('OpenAI SDK: transcription', () => {
  test('gets the text of a recording', async () => {
    const reply = await openai.audio.transcriptions.create({
      file: await file(wav),
      model: 'whisper-1',
      language: 'en',
    });
    expect(heardWords(reply.text)).toBeGreaterThan(0.8);
    expect(reply.usage).toMatchObject({ type: 'duration' });
    await server.says('Loaded moonshine-tiny for speech to text (en)');
  });

  test('gets subtitles and plain text', async () => {
    const create = async (response_format: 'text' | 'srt' | 'vtt') =>
      openai.audio.transcriptions.create({ file: await file(wav), model: 'm', response_format });
    expect(heardWords(await create('text'))).toBeGreaterThan(0.8);
    expect(await create('srt')).toMatch(/^1\n00:00:00,\d{3} --> 00:00:0\d,\d{3}\nGood morning\.\n\n2\n/);
    expect(await create('vtt')).toMatch(/^WEBVTT\n\n00:00:00\.\d{3} --> /);
  });

  test('gets segments and words with times', async () => {
    const verbose = await openai.audio.transcriptions.create({
      file: await file(wav),
      model: 'm',
      response_format: 'verbose_json',
      timestamp_granularities: ['word', 'segment'],
    });
    expect(verbose).toMatchObject({ language: 'english', segments: [{ id: 0 }, { id: 1 }] });
    const times = verbose.words?.flatMap(({ start, end }) => [start, end]) ?? [];
    expect(times.length).toBeGreaterThan(20);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(times.at(-1)).toBeLessThanOrEqual(verbose.duration);
  });

  test('stream: the pieces add up to the whole text', async () => {
    const stream = await openai.audio.transcriptions.create({ file: await file(long), model: 'm', stream: true });
    const deltas: string[] = [];
    let whole = '';
    for await (const event of stream) {
      if (event.type === 'transcript.text.delta') deltas.push(event.delta);
      if (event.type === 'transcript.text.done') whole = event.text;
    }
    expect(deltas.length).toBeGreaterThan(5);
    expect(deltas.join('')).toBe(whole);
    expect(heardWords(whole)).toBeGreaterThan(0.8);
  });

  test('translations: English speech is answered with its transcription', async () => {
    const { text } = await openai.audio.transcriptions.create({ file: await file(wav), model: 'm' });
    expect((await openai.audio.translations.create({ file: await file(wav), model: 'm' })).text).toBe(text);
  });

  test('unsupported options are refused with the flag that helps', async () => {
    const german = openai.audio.transcriptions.create({ file: await file(wav), model: 'm', language: 'de' });
    await expect(german).rejects.toMatchObject({ status: 400, message: expect.stringContaining('--whispermodel') });
    const request = { file: await file(wav), model: 'm', language: 'de' };
    const translation = openai.audio.translations.create(request);
    await expect(translation).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('--whispermodel'),
    });
  });
});

describe('/api/extra/transcribe', () => {
  test('accepts base64 in JSON, and forms', async () => {
    const audio_data = `data:audio/wav;base64,${wav.toString('base64')}`;
    const { text } = (await native.post('/api/extra/transcribe', { audio_data, langcode: 'auto' })).json() as {
      text: string;
    };
    expect(heardWords(text)).toBeGreaterThan(0.8);
    const form = openForm('/api/extra/transcribe', wav, { language: 'en', prompt: 'Meeting notes.' });
    await form.over;
    const reply = JSON.parse(form.text());
    expect(heardWords(reply.text)).toBeGreaterThan(0.8);
    expect(reply.warnings).toEqual([expect.stringContaining('prompt has no effect')]);
  });

  test('counts its requests', async () => {
    expect((await native.performance()).total_transcribe_gens).toBeGreaterThan(5);
  });
});

describe('transcription: accepted recordings', () => {
  test.each([8000, 22_050, 44_100, 48_000])('WAV at %i Hz, with one channel or two', async (rate) => {
    const sound = await spoken(sentence, rate);
    expect(heardWords(await transcribed(wavFile([sound], rate)))).toBeGreaterThan(0.6);
    expect(heardWords(await transcribed(wavFile([sound, sound], rate, { bits: 24 })))).toBeGreaterThan(0.6);
  });

  test('MP3, FLAC, Opus in Ogg, WebM and MP4, detected by content', async () => {
    const sound = await spoken(sentence, 48_000);
    const opus = await opusFile([sound], 48_000);
    const files = [
      await mp3File([sound], 48_000),
      await flacFile([sound], 48_000),
      opus,
      await webmOf(opus),
      await mp4Of(opus),
    ];
    for (const each of files) expect(heardWords(await transcribed(each, 'blob'))).toBeGreaterThan(0.7);
  });

  test('silence and very short recordings give an empty text', async () => {
    expect(await transcribed(wavFile([silence(5)], 16_000))).toBe('');
    expect(await transcribed(wavFile([silence(0.01)], 16_000))).toBe('');
  });

  test('over a minute: segments are in order and exclude pauses', async () => {
    const verbose = await openai.audio.transcriptions.create({
      file: await file(long),
      model: 'm',
      response_format: 'verbose_json',
    });
    const segments = verbose.segments ?? [];
    expect(verbose.duration).toBeGreaterThan(50);
    expect(segments.length).toBeGreaterThan(8);
    const times = segments.flatMap(({ start, end }) => [start, end]);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(segments[0]?.start).toBeGreaterThan(2.5);
    expect(heardWords(verbose.text, 'the first part is about the weather the second part is about the river')).toBe(1);
  });
});

describe('transcription: refused files', () => {
  test.each([
    ['an empty file', Buffer.alloc(0), /this file is empty/],
    ['a text', Buffer.from('hello'), /this is text/],
    ['a picture', Buffer.from('\x89PNG\r\n\x1a\n....', 'latin1'), /a PNG picture/],
    [
      'noise',
      Buffer.from(Array.from({ length: 5000 }, (_, index) => (index * 7919) % 251)),
      /nothing that we know|broken/,
    ],
  ])('%s', async (_, bytes, message) => {
    await expect(transcribed(bytes)).rejects.toMatchObject({ status: 400, message: expect.stringMatching(message) });
  });

  test('truncated and undecodable files', async () => {
    await expect(transcribed(wav.subarray(0, wav.length / 2))).rejects.toThrow(/cut off/);
    const aac = await mp4WithAac([Buffer.alloc(50, 1)]);
    await expect(transcribed(aac)).rejects.toMatchObject({ status: 400, message: expect.stringMatching(/AAC|ffmpeg/) });
  });

  test('missing and oversized files', async () => {
    const nothing = await native.post('/v1/audio/transcriptions', { model: 'm' });
    expect([nothing.status, nothing.text]).toEqual([400, expect.stringContaining('file must be a recording')]);
    expect((await native.post('/api/extra/transcribe', { audio_data: '?' })).json()).toMatchObject({
      detail: { type: 'bad_input' },
    });
    await expect(transcribed(Buffer.alloc(33 * 1024 * 1024))).rejects.toMatchObject({ status: 413 });
  });
});

test('transcription: a disconnect stops the work, and the next request is served', async () => {
  const open = openForm('/v1/audio/transcriptions', long, { stream: 'true' });
  await open.begun;
  open.hangUp();
  await open.over;
  expect(heardWords(await transcribed(wav))).toBeGreaterThan(0.8);
  expect(await native.performanceWhere(({ idle }) => idle === 1)).toMatchObject({ queue: 0 });
});

test('transcription: can be polled and aborted by key', async () => {
  const open = openForm('/v1/audio/transcriptions', long, { stream: 'true', genkey: 'KCPP1' });
  await open.begun;
  expect(heardWords(await native.check('KCPP1'), 'the first part')).toBe(1);
  expect((await native.post('/api/extra/abort', { genkey: 'KCPP1' })).json()).toMatchObject({ success: 'true' });
  await open.over;
  expect(open.text()).toMatch(/"error":\{.*stopped before it was done/);
  expect(open.text().endsWith('data: [DONE]\n\n')).toBe(true);
});

test('transcription: an engine crash fails its request only', async () => {
  const pid = await listener();
  const open = openForm('/v1/audio/transcriptions', long, { stream: 'true' });
  await open.begun;
  process.kill(pid, 'SIGKILL');
  await open.over;
  expect(open.text()).toMatch(/"error":\{"message":"The transcription engine stopped in the middle/);
  expect(open.text().endsWith('data: [DONE]\n\n')).toBe(true);
  expect(heardWords(await transcribed(wav))).toBeGreaterThan(0.8);
  expect(await listener()).not.toBe(pid);
  const { text } = await native.generate({ prompt: 'Once upon a time', max_length: 8 });
  expect(text).toMatch(/^, there was a/);
});

test('transcription: other requests are answered meanwhile', async () => {
  let busy = true;
  const work = transcribed(long).finally(() => {
    busy = false;
  });
  let answered = 0;
  for (; busy; answered++) expect((await native.get('/api/extra/version')).status).toBe(200);
  expect(heardWords(await work)).toBeGreaterThan(0.8);
  expect(answered).toBeGreaterThan(20);
});

test('transcription: a waiting stream reports its queue position', async () => {
  const before = [openForm('/v1/audio/transcriptions', long, {}), openForm('/v1/audio/transcriptions', long, {})];
  await native.performanceWhere(({ queue = 0 }) => queue > 0);
  const waiting = openForm('/v1/audio/transcriptions', wav, { stream: 'true' });
  while (!waiting.text().includes('queue position')) await native.get('/api/extra/version');
  for (const form of before) form.hangUp();
  await waiting.over;
  expect(waiting.text()).toMatch(/^: queue position \d+, about \d+ s\n\n/);
  expect(waiting.text()).toContain('transcript.text.done');
});

test('transcription: parallel requests are served one after the other', async () => {
  const texts = await Promise.all([transcribed(wav), transcribed(wav), transcribed(wav)]);
  for (const text of texts) expect(heardWords(text)).toBeGreaterThan(0.8);
});

test('transcription: leaves no temporary files', async () => {
  const leftUploads = () => readdirSync(tmpdir()).filter((name) => name.startsWith(`parley-upload-${server.pid}-`));
  // They go once the reply is out, which its client may see first.
  while (leftUploads().length > 0) await native.get('/api/extra/version');
  expect(leftUploads()).toEqual([]);
});

test('transcription: the engine ends with the server', async () => {
  const pid = await listener();
  expect(isAlive(pid)).toBe(true);
  await server.stop();
  expect(isAlive(pid)).toBe(false);
});
