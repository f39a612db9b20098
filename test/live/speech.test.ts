import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decoded, loudness, seconds } from '../../src/audio/testing/decoded.ts';
import { speechFormats } from '../../src/core/speech.ts';
import { type NativeClient, nativeClient, openRequest } from './client.ts';
import { runProgram } from './program.ts';
import { type LiveServer, liveServers } from './server.ts';

const startServer = liveServers();
const folder = mkdtempSync(join(tmpdir(), 'parley-speech-'));
const home = process.env.PARLEY_HOME;
beforeAll(() => {
  process.env.PARLEY_HOME = join(folder, 'home');
});
afterAll(() => {
  if (home === undefined) delete process.env.PARLEY_HOME;
  else process.env.PARLEY_HOME = home;
  rmSync(folder, { recursive: true });
});

const sentences = 'The weather is lovely today. We went for a walk along the river. Then it rained. So we went home.';
const oneOfMany = 'This is one of many sentences, and there are more of them to come. ';
/** Longer than any test listens. */
const long = oneOfMany.repeat(100);

let server: LiveServer;
let client: NativeClient;
let openai: OpenAI;
beforeAll(async () => {
  writeFileSync(join(folder, 'aunt.wav'), 'a sample');
  server = await startServer(['--ttsdir', folder]);
  client = nativeClient(server.base);
  openai = new OpenAI({ baseURL: `${server.base}/v1`, apiKey: 'none', maxRetries: 0 });
});

const bytesOf = async (reply: Response) => new Uint8Array(await reply.arrayBuffer());
const post = (path: string, body: object): Promise<Response> =>
  fetch(`${server.base}${path}`, { method: 'POST', body: JSON.stringify(body) });

describe('text to speech without flags', () => {
  test.each(speechFormats)('%s through the official client', async (format) => {
    const reply = await openai.audio.speech.create({
      model: 'tts-1',
      voice: 'alloy',
      input: sentences,
      response_format: format,
    });
    const types = { wav: 'audio/wav', mp3: 'audio/mpeg', opus: 'audio/ogg', flac: 'audio/flac', pcm: 'audio/pcm' };
    expect(reply.headers.get('content-type')).toBe(types[format]);
    const sound = await decoded(format, await bytesOf(reply));
    expect(seconds(sound)).toBeGreaterThan(5);
    expect(seconds(sound)).toBeLessThan(10);
    expect(loudness(sound)).toBeGreaterThan(0.03);
  });

  test('format: mp3 by default; speed 2 halves the duration', async () => {
    const normal = await decoded('mp3', await bytesOf(await post('/v1/audio/speech', { input: sentences })));
    const quick = await decoded('mp3', await bytesOf(await post('/v1/audio/speech', { input: sentences, speed: 2 })));
    expect(seconds(quick)).toBeLessThan(0.7 * seconds(normal));
    expect(seconds(quick)).toBeGreaterThan(0.4 * seconds(normal));
  });

  test('streaming: the first audio arrives before the last sentence is spoken', async () => {
    const input = oneOfMany.repeat(15);
    const reply = await openai.audio.speech.create({ model: 'm', voice: 'slt', input, response_format: 'wav' });
    const { total_tts_gens: before } = await client.performance();
    const pieces: Uint8Array[] = [];
    let finished = -1;
    for await (const piece of reply.body as unknown as AsyncIterable<Uint8Array>) {
      pieces.push(piece);
      if (pieces.length === 1) finished = (await client.performance()).total_tts_gens ?? -1;
    }
    expect(finished).toBe(before);
    expect(pieces.length).toBeGreaterThan(5);
    expect((await client.performance()).total_tts_gens).toBe((before ?? 0) + 1);
    expect(seconds(await decoded('wav', Buffer.concat(pieces)))).toBeGreaterThan(30);
  });

  test('stream_format sse: the pieces add up to the same file', async () => {
    const ask = { input: sentences, response_format: 'flac', voice: 'rms' };
    const text = await (await post('/v1/audio/speech', { ...ask, stream_format: 'sse' })).text();
    const frames = text
      .trimEnd()
      .split('\n\n')
      .map((frame) => JSON.parse(frame.replace(/^data: /, '')));
    expect(frames.at(-1)).toMatchObject({ type: 'speech.audio.done', usage: { input_tokens: 20 } });
    const pieces = frames.slice(0, -1).map(({ audio }) => Buffer.from(audio, 'base64'));
    expect(pieces.length).toBeGreaterThan(2);
    const whole = await bytesOf(await post('/v1/audio/speech', ask));
    expect(Buffer.concat(pieces).equals(whole)).toBe(true);
  });

  test('/api/extra/tts: returns a whole WAV file', async () => {
    const reply = await post('/api/extra/tts', { input: sentences, voice: 'kobo' });
    const bytes = Buffer.from(await bytesOf(reply));
    expect(reply.headers.get('content-length')).toBe(String(bytes.length));
    expect(bytes.readUInt32LE(4)).toBe(bytes.length - 8);
    expect(reply.headers.get('content-disposition')).toBe('attachment; filename="output.wav"');
    const mp3 = await post('/api/extra/tts', { input: 'Hello.', response_format: 'mp3' });
    expect(mp3.headers.get('content-type')).toBe('audio/mpeg');
  });

  test('version and counters report speech', async () => {
    expect((await client.get('/api/extra/version')).json()).toMatchObject({ tts: true, music: false });
    const { total_tts_gens: before = 0 } = await client.performance();
    await (await post('/api/extra/tts', { input: 'One.' })).arrayBuffer();
    expect(await client.performance()).toMatchObject({ total_tts_gens: before + 1 });
  });

  test('console: shows no output of the engine', () => {
    expect(server.output()).not.toMatch(/Experimental|WASI|clunit/);
  });
});

describe('XTTS requests of SillyTavern', () => {
  test('voices, settings, a file and a stream', async () => {
    const speakers = (await client.get('/speakers')).json() as {
      name: string;
      voice_id: string;
      preview_url: string;
    }[];
    expect(speakers.map(({ name }) => name)).toEqual(['slt', 'rms', 'awb', 'kal16', 'kal', 'aunt.wav']);
    expect((await fetch(speakers[5]?.preview_url ?? '')).status).toBe(200);

    const request = { text: sentences, speaker_wav: speakers[1]?.voice_id, language: 'en' };
    const normal = seconds(await decoded('wav', await bytesOf(await post('/tts_to_audio/', request))));
    const sliders = { temperature: '0.75', speed: '2', top_k: '50', top_p: '0.85', enable_text_splitting: true };
    expect((await post('/set_tts_settings', sliders)).status).toBe(200);
    const quick = await post('/tts_to_audio/', request);
    expect(quick.headers.get('content-type')).toBe('audio/wav');
    expect(seconds(await decoded('wav', await bytesOf(quick)))).toBeLessThan(0.7 * normal);

    const query = new URLSearchParams({ text: sentences, speaker_wav: 'awb', language: 'en' });
    const stream = await fetch(`${server.base}/tts_stream/?${query}`);
    expect(stream.headers.get('content-type')).toBe('audio/x-wav');
    const sound = await decoded('wav', await bytesOf(stream));
    expect(loudness(sound)).toBeGreaterThan(0.03);
    await post('/set_tts_settings', { speed: '1' });
  });

  test('/tts_to_file: writes only into its own folder', async () => {
    const sent = { text: 'Hello.', speaker_wav: 'slt', language: 'en' };
    const reply = await post('/tts_to_file', { ...sent, file_name_or_path: 'hello.wav' });
    expect(await reply.json()).toMatchObject({ output_path: 'hello.wav' });
    const file = readFileSync(join(folder, 'home', 'output', 'hello.wav'));
    expect(seconds(await decoded('wav', file))).toBeGreaterThan(0.5);
    expect((await post('/tts_to_file', { ...sent, file_name_or_path: '../hello.wav' })).status).toBe(422);
  });

  test('VITS: requests of its clients are answered', async () => {
    const { VITS } = (await client.get('/voice/speakers')).json() as { VITS: { id: number; name: string }[] };
    expect(VITS[1]).toMatchObject({ id: 1, name: 'rms' });
    const fields = new FormData();
    for (const [name, value] of Object.entries({ text: 'Hello.', id: '1', format: 'mp3' })) fields.append(name, value);
    const reply = await fetch(`${server.base}/voice/vits`, { method: 'POST', body: fields });
    expect([reply.status, reply.headers.get('content-type')]).toEqual([200, 'audio/mpeg']);
  });
});

describe('voices', () => {
  test('voices: are listed, and any name selects one', async () => {
    const { voices } = (await client.get('/v1/audio/voices')).json() as { voices: string[] };
    expect(voices).toContain('slt');
    const audioOf = async (voice: unknown) =>
      Buffer.from(
        await bytesOf(await post('/v1/audio/speech', { input: 'Hello there.', voice, response_format: 'pcm' })),
      );
    expect((await audioOf('nova')).equals(await audioOf('slt'))).toBe(true);
    expect((await audioOf({ id: 'rms' })).equals(await audioOf('rms'))).toBe(true);
    expect((await audioOf('Marvin')).equals(await audioOf('marvin.wav'))).toBe(true);
    expect((await audioOf('rms')).equals(await audioOf('slt'))).toBe(false);
  });

  test('voices: reports that a sample cannot be imitated', async () => {
    const reply = await post('/v1/audio/speech', { input: 'Hello.', voice: 'aunt' });
    expect(reply.headers.get('x-parley-notes')).toMatch(/^The sample aunt.wav cannot be imitated/);
    await reply.arrayBuffer();
  });
});

describe('input that cannot be spoken', () => {
  test.each([
    ['no text', {}, 400],
    ['an empty text', { input: '  ' }, 400],
    ['a format that cannot be made', { input: 'a', response_format: 'aac' }, 400],
    ['a pace that is none', { input: 'a', speed: 9 }, 400],
    ['another script', { input: 'こんにちは' }, 400],
    ['too many words', { input: 'word '.repeat(4097) }, 400],
  ])('%s is refused', async (_, body, status) => {
    const reply = await post('/v1/audio/speech', body);
    expect(reply.status).toBe(status);
    expect(await reply.json()).toMatchObject({ error: { message: expect.any(String) } });
  });

  test('a broken body is refused, in each family', async () => {
    for (const path of ['/v1/audio/speech', '/api/extra/tts', '/tts_to_audio']) {
      expect((await client.call('POST', path, '{"input":')).status).toBe(400);
    }
  });

  test('unreadable letters are reported, and the rest is spoken', async () => {
    const reply = await post('/v1/audio/speech', { input: 'The word 東京 means Tokyo.' });
    expect(reply.status).toBe(200);
    expect(reply.headers.get('x-parley-notes')).toMatch(/^2 characters are not spoken/);
    await reply.arrayBuffer();
  });

  test('music endpoints report that there is no engine', async () => {
    expect((await post('/api/extra/music/generate', {})).status).toBe(503);
    const plan = await post('/api/extra/music/prepare', {});
    expect([plan.status, await plan.json()]).toMatchObject([200, { error: expect.stringContaining('music') }]);
  });
});

describe('text to speech: interrupted', () => {
  const next = async () => {
    const sound = await decoded('mp3', await bytesOf(await post('/v1/audio/speech', { input: 'Hello again.' })));
    expect(seconds(sound)).toBeGreaterThan(0.5);
  };

  test('disconnect: stops the speech, and the next request runs', async () => {
    const { total_tts_gens: before = 0 } = await client.performance();
    const leaving = openRequest(server.base, '/v1/audio/speech', { input: long, response_format: 'wav' });
    await leaving.begun;
    leaving.hangUp();
    await leaving.over;
    await next();
    expect((await client.performance()).total_tts_gens).toBe(before + 1);
  });

  test('engine crash: cuts the stream off, and the next request is answered', async () => {
    const reply = await post('/v1/audio/speech', { input: `${long} One.`, response_format: 'wav' });
    const reader = (reply.body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    process.kill(server.worker('speech') as number, 'SIGKILL');
    const rest = async () => {
      while (!(await reader.read()).done);
    };
    await expect(rest()).rejects.toThrow();
    await next();
    await server.says('The speech engine stopped (SIGKILL)');
  });

  test('engine crash: a request for a whole file gets an error', async () => {
    const answer = post('/api/extra/tts', { input: `${long} Two.` });
    await client.performanceWhere(({ idle }) => idle === 0);
    process.kill(server.worker('speech') as number, 'SIGKILL');
    const reply = await answer;
    expect(reply.status).toBe(500);
    expect(await reply.json()).toMatchObject({ detail: { msg: expect.stringContaining('speech engine') } });
    await next();
  });

  test('engine crash: the last event of an sse stream is an error', async () => {
    const reply = await post('/v1/audio/speech', { input: `${long} Three.`, stream_format: 'sse' });
    const reader = (reply.body as ReadableStream<Uint8Array>).getReader();
    let text = Buffer.from((await reader.read()).value ?? []).toString();
    process.kill(server.worker('speech') as number, 'SIGKILL');
    for (let step = await reader.read(); !step.done; step = await reader.read()) text += Buffer.from(step.value);
    expect(text.trimEnd().split('\n\n').at(-1)).toMatch(/^data: \{"type":"error"/);
    await next();
  });
});

describe('text to speech with flags', () => {
  test('100,000 characters: streaming starts at once and stops with the client', async () => {
    const patient = await startServer(['--nomodel', '--ttsmaxlen', '30000']);
    const input = 'This is one of many sentences, and more are to come. '.repeat(1890);
    expect(input.length).toBeGreaterThan(100_000);
    const reply = await fetch(`${patient.base}/v1/audio/speech`, {
      method: 'POST',
      body: JSON.stringify({ input, voice: 'kal16', speed: 4, response_format: 'wav' }),
    });
    let bytes = 0;
    for await (const piece of reply.body as unknown as AsyncIterable<Uint8Array>) {
      bytes += piece.length;
      // A minute of it is enough to know; all of it takes longer than a test may.
      if (bytes > 60 * 32_000) break;
    }
    expect(bytes / 32_000).toBeGreaterThan(60);
    await patient.says('was stopped after');
    await patient.stop();
  });

  test('--password: speech needs the key, lists do not', async () => {
    const guarded = await startServer(['--nomodel', '--password', 'secret']);
    const status = async (path: string, body?: object) =>
      (await fetch(`${guarded.base}${path}`, body ? { method: 'POST', body: JSON.stringify(body) } : {})).status;
    expect(await status('/v1/audio/speech', { input: 'a' })).toBe(401);
    expect(await status('/api/extra/tts', { input: 'a' })).toBe(401);
    expect(await status('/tts_to_file', { text: 'a', file_name_or_path: 'a' })).toBe(401);
    expect(await status('/v1/audio/voices')).toBe(200);
    expect(await status('/tts_stream?text=Hello.')).toBe(401);
    expect(await status('/tts_stream?text=Hello.&key=secret')).toBe(200);
    expect(await status('/tts_to_audio/', { text: 'Hello.' })).toBe(401);
    await guarded.stop();
  });

  test('--ttsmodel: an unsupported model ends the start and lists the supported ones', async () => {
    const file = join(folder, 'outetts.gguf');
    writeFileSync(file, 'GGUF');
    const { code, stdout, stderr } = await runProgram(['--nomodel', '--port', '0', '--ttsmodel', file]);
    expect(code).toBe(3);
    expect(stdout + stderr).toMatch(/outetts.gguf could not be loaded: .*not possible yet. What is: a Piper voice/);
  });

  test('--ttsmodel: a missing file ends the start', async () => {
    const { code } = await runProgram(['--nomodel', '--port', '0', '--ttsmodel', join(folder, 'none.onnx')]);
    expect(code).toBe(2);
  });

  /** No voice is bundled: `PARLEY_TEST_VOICE` names a Piper voice, with espeak-ng-data beside it. */
  const voice = process.env.PARLEY_TEST_VOICE;
  test.skipIf(voice === undefined)('a Piper voice is loaded at the start and speaks in every format', async () => {
    const { base, output, stop } = await startServer(['--nomodel', '--ttsgpu', '--ttsmodel', voice ?? '']);
    await expect.poll(() => output()).toContain('--ttsgpu has no effect');
    await expect.poll(() => output()).toContain('Load TTS Model OK: True');
    const { voices } = (await nativeClient(base).get('/v1/audio/voices')).json() as { voices: string[] };
    expect(voices).toHaveLength(1);
    const audioOf = async (body: object) =>
      bytesOf(await fetch(`${base}/v1/audio/speech`, { method: 'POST', body: JSON.stringify(body) }));
    for (const format of speechFormats) {
      const sound = await decoded(format, await audioOf({ input: sentences, response_format: format }));
      expect(seconds(sound)).toBeGreaterThan(3);
      expect(seconds(sound)).toBeLessThan(20);
      expect(loudness(sound)).toBeGreaterThan(0.01);
    }
    const pace = async (speed: number) =>
      seconds(await decoded('wav', await audioOf({ input: sentences, speed, response_format: 'wav' })));
    expect(await pace(2)).toBeLessThan(0.7 * (await pace(1)));
    await stop();
  });
});
