import { describe, expect, test } from 'vitest';
import { AppError, asAppError } from '../../../core/errors.ts';
import type { Call, Reply } from '../../../http/call.ts';
import { router } from '../../../http/router.ts';
import { bindAll } from '../../testing/bind.ts';
import { callOf } from '../../testing/doubles.ts';
import { lost, type SpokenScript, scriptedSpeech } from '../../testing/spoken.ts';
import { speechEndpoints } from './speech.ts';

function world(script: SpokenScript | 'none' = {}) {
  const { speech, asked } = scriptedSpeech(script === 'none' ? {} : script);
  const endpoints = bindAll(speechEndpoints, { taskServices: script === 'none' ? {} : { speech } });
  const at = (method: string, path: string, body: unknown = {}, own: Partial<Call> = {}): Promise<Reply> => {
    const endpoint = router(endpoints).find(method, path);
    if (!endpoint) throw new Error(`nobody answers ${path}`);
    return Promise.resolve()
      .then(() => endpoint.handle(callOf(path, body, { method, ...own })))
      .catch((error: unknown) => endpoint.dialect.errorReply(asAppError(error)));
  };
  return { at, asked, post: (body: unknown) => at('POST', '/v1/audio/speech', body) };
}

async function read(reply: Reply): Promise<string> {
  if ('body' in reply) return String(reply.body);
  let text = '';
  for await (const piece of reply.stream) text += typeof piece === 'string' ? piece : Buffer.from(piece).toString();
  return text;
}

const errorOf = async (reply: Reply) => (JSON.parse(await read(reply)) as { error: Record<string, unknown> }).error;

describe('POST /v1/audio/speech', () => {
  test('is mp3 by default, and streamed', async () => {
    const { post, asked } = world();
    const reply = await post({ model: 'tts-1', input: 'Hello.', voice: 'alloy' });
    expect(reply.status).toBe(200);
    expect(reply.headers).toMatchObject({
      'content-type': 'audio/mpeg',
      'content-disposition': 'attachment; filename="speech.mp3"',
    });
    expect(await read(reply)).toBe('RIFFsound');
    expect(asked[0]?.request).toEqual({
      text: 'Hello.',
      voice: 'slt',
      speed: 1,
      language: '',
      instruction: '',
      seed: -1,
      format: 'mp3',
      streamed: true,
    });
  });

  test('is also served without /v1', async () => {
    expect((await world().at('POST', '/audio/speech', { input: 'Hello.' })).status).toBe(200);
  });

  test.each([
    ['MP3', 'mp3'],
    [' wav ', 'wav'],
    ['', 'mp3'],
    [null, 'mp3'],
    ['pcm', 'pcm'],
  ])('response_format %j is %s', async (sent, format) => {
    const { post, asked } = world();
    await post({ input: 'a', response_format: sent });
    expect(asked[0]?.request.format).toBe(format);
  });

  test.each(['aac', 'ogg', 'midi', 5, {}])('response_format %j is rejected with the possible formats', async (sent) => {
    const { post, asked } = world();
    const reply = await post({ input: 'a', response_format: sent });
    expect(reply.status).toBe(400);
    expect(await errorOf(reply)).toMatchObject({
      message: expect.stringContaining('mp3, wav, opus, flac and pcm are possible'),
      param: 'response_format',
      code: 'unsupported_value',
    });
    expect(asked).toEqual([]);
  });

  test.each([0.25, 1, '1.5', 4])('speed %j is honoured', async (speed) => {
    const { post, asked } = world();
    await post({ input: 'a', speed });
    expect(asked[0]?.request.speed).toBe(Number(speed));
  });

  test.each([0, 0.1, 4.01, -1, 'fast', {}])('speed %j is rejected', async (speed) => {
    const reply = await world().post({ input: 'a', speed });
    expect(reply.status).toBe(400);
    expect(await errorOf(reply)).toMatchObject({ param: 'speed', message: 'speed must be a number from 0.25 to 4.' });
  });

  test.each([
    [{}, 'input'],
    [{ input: '' }, 'input'],
    [{ input: 3 }, 'input'],
    [{ input: 'a', stream_format: 'xml' }, 'stream_format'],
    [{ input: 'a', voice: [] }, 'voice'],
    [{ input: 'x '.repeat(51) }, 'input'],
  ])('%.50j is rejected with the field as param', async (body, param) => {
    const reply = await world().post(body);
    expect(reply.status).toBe(400);
    expect(await errorOf(reply)).toMatchObject({ param, type: 'invalid_request_error' });
  });

  test.each(['{', '', '[]'])('the body %j is rejected', async (body) => {
    const reply = await world().post(body);
    expect(reply.status).toBe(400);
    expect(await errorOf(reply)).toMatchObject({ type: 'invalid_request_error' });
  });

  test('x-parley-notes has the notes of the request, then those of the engine', async () => {
    const { post } = world({ notes: ['No songs.'] });
    const { headers } = await post({ input: 'a', voice: 'aunt.wav', stream: true });
    expect(headers?.['x-parley-notes']).toMatch(/^The sample aunt.wav cannot .* instead\., No songs\.$/);
    expect(headers?.['x-parley-ignored']).toBe('stream');
  });

  test('an error of the engine keeps its status', async () => {
    const refusal = new AppError('unsupported', { feature: 'Speaking this text', instead: 'no' });
    const reply = await world({ refusal }).post({ input: '日本' });
    expect(reply.status).toBe(400);
  });

  test('fails with the flag to set if there is no speech model', async () => {
    const reply = await world('none').post({ input: 'a' });
    expect(reply.status).toBe(503);
    expect(await errorOf(reply)).toMatchObject({
      message: 'No text-to-speech model is loaded. Start the server with --ttsmodel FILE.',
      code: 'model_not_loaded',
    });
  });

  test('the request context has genkey and signal of the call', async () => {
    const stop = new AbortController();
    const { at, asked } = world();
    await at('POST', '/v1/audio/speech', { input: 'a', genkey: 'KCPP1' }, { signal: stop.signal });
    expect(asked[0]?.requestContext).toMatchObject({ genkey: 'KCPP1', signal: stop.signal });
  });
});

describe('POST /v1/audio/speech: stream_format sse', () => {
  const frames = async (reply: Reply) =>
    (await read(reply))
      .trimEnd()
      .split('\n\n')
      .map((frame) => JSON.parse(frame.replace(/^data: /, '')));

  test('has one event per piece, and the usage in the last one', async () => {
    const reply = await world().post({ input: 'Hello my friend.', stream_format: 'sse' });
    expect(reply.headers).toMatchObject({ 'content-type': 'text/event-stream' });
    expect(await frames(reply)).toEqual([
      { type: 'speech.audio.delta', audio: Buffer.from('RIFF').toString('base64') },
      { type: 'speech.audio.delta', audio: Buffer.from('sound').toString('base64') },
      { type: 'speech.audio.done', usage: { input_tokens: 3, output_tokens: 15, total_tokens: 18 } },
    ]);
  });

  test('a failure in mid-stream is the last event', async () => {
    const reply = await world({ failure: lost }).post({ input: 'Hello.', stream_format: 'sse' });
    expect((await frames(reply)).at(-1)).toMatchObject({ type: 'error', error: { type: 'server_error' } });
  });

  test('a failure before the first event keeps its status', async () => {
    const reply = await world({ refusal: lost }).post({ input: 'Hello.', stream_format: 'sse' });
    expect(reply.status).toBe(500);
  });
});

describe('GET /v1/audio', () => {
  test('voices: those of the engine and of the folder', async () => {
    const { at } = world();
    const voices = { status: 'ok', voices: ['slt', 'rms', 'awb', 'aunt.wav'] };
    expect(JSON.parse(await read(await at('GET', '/v1/audio/voices')))).toEqual(voices);
    expect(JSON.parse(await read(await at('GET', '/audio/voices')))).toEqual(voices);
  });

  test('models: the speech model', async () => {
    expect(JSON.parse(await read(await world().at('GET', '/v1/audio/models')))).toEqual({ models: [{ id: 'flite' }] });
  });

  test('voices and models are empty without a speech model', async () => {
    const { at } = world('none');
    expect(JSON.parse(await read(await at('GET', '/v1/audio/voices')))).toEqual({ status: 'ok', voices: [] });
    expect(JSON.parse(await read(await at('GET', '/v1/audio/models')))).toEqual({ models: [] });
  });

  test('lists are open; speech needs the key and is queued', () => {
    const access = bindAll(speechEndpoints, {}).map(({ path, access: who, rateLimited }) => [path, who, rateLimited]);
    expect(access).toEqual([
      ['/v1/audio/speech', 'guarded', true],
      ['/audio/speech', 'guarded', true],
      ['/v1/audio/voices', 'open', false],
      ['/audio/voices', 'open', false],
      ['/v1/audio/models', 'open', false],
      ['/audio/models', 'open', false],
    ]);
  });
});
