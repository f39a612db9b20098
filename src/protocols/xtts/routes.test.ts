import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { AppError, asAppError } from '../../core/errors.ts';
import type { Call, Reply } from '../../http/call.ts';
import { plainPath, queryOf, router } from '../../http/router.ts';
import { bindAll } from '../testing/bind.ts';
import { callOf } from '../testing/doubles.ts';
import { lost, type SpokenScript, scriptedSpeech } from '../testing/spoken.ts';
import { vitsDialect, xttsDialect, xttsEndpoints } from './routes.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'xtts-test-'));
  await writeFile(join(folder, 'aunt.wav'), 'a sample');
  await writeFile(join(folder, 'secret.txt'), 'not a sample');
});
afterEach(() => rm(folder, { recursive: true }));

function world(script: SpokenScript | 'none' = {}) {
  const { speech, asked } = scriptedSpeech(script === 'none' ? {} : script);
  const outputFolder = join(folder, 'out');
  const endpoints = bindAll(xttsEndpoints({ outputFolder }), {
    taskServices: script === 'none' ? {} : { speech },
    settings: { ttsdir: folder },
  });
  /** Sends a request target unchanged, as the server does. */
  const ask = async (method: string, target: string, body: unknown = '', own: Partial<Call> = {}) => {
    const path = plainPath(target);
    const endpoint = router(endpoints).find(method, path);
    if (!endpoint) throw new Error(`nobody answers ${method} ${path}`);
    const reply: Reply = await Promise.resolve()
      .then(() => endpoint.handle(callOf(path, body, { method, query: queryOf(target), ...own })))
      .catch((error: unknown) => endpoint.dialect.errorReply(asAppError(error)));
    let text = 'body' in reply ? String(reply.body) : '';
    if ('stream' in reply) for await (const piece of reply.stream) text += Buffer.from(piece as Uint8Array).toString();
    const json = (): unknown => JSON.parse(text);
    return { status: reply.status, headers: reply.headers ?? {}, text, json, streamed: 'stream' in reply };
  };
  return { asked, endpoints, outputFolder, get: ask.bind(null, 'GET'), post: ask.bind(null, 'POST') };
}

describe('SillyTavern', () => {
  test('lists voices, sets the sliders and generates speech', async () => {
    const { get, post, asked } = world();
    const [first] = (await get('/speakers')).json() as { name: string; voice_id: string }[];
    expect(first).toEqual({ name: 'slt', voice_id: 'slt', preview_url: '' });

    const sliders = {
      temperature: '0.75',
      speed: '1.5',
      length_penalty: '1.0',
      repetition_penalty: '5',
      top_k: '50',
      top_p: '0.85',
      enable_text_splitting: true,
      stream_chunk_size: '100',
    };
    const set = await post('/set_tts_settings', sliders);
    expect([set.status, set.json()]).toEqual([200, { message: 'Settings successfully applied' }]);

    const spoken = await post('/tts_to_audio/', { text: 'Hello.', speaker_wav: first?.voice_id, language: 'en' });
    expect(spoken).toMatchObject({ status: 200, text: 'RIFFsound', streamed: false });
    expect(spoken.headers).toMatchObject({
      'content-type': 'audio/wav',
      'content-disposition': 'attachment; filename="output.wav"',
    });
    expect(asked[0]?.request).toMatchObject({ text: 'Hello.', voice: 'slt', speed: 1.5, streamed: false });

    const stream = await get('/tts_stream/?text=Hello%20there.&speaker_wav=rms&language=en');
    expect(stream).toMatchObject({ status: 200, text: 'RIFFsound', streamed: true });
    expect(stream.headers['content-type']).toBe('audio/x-wav');
    expect(asked[1]?.request).toMatchObject({ text: 'Hello there.', voice: 'rms', speed: 1.5, streamed: true });
  });

  test('get_tts_settings: returns the sliders', async () => {
    const { get, post } = world();
    expect((await get('/get_tts_settings')).json()).toMatchObject({ temperature: 0.75, speed: 1, top_k: 50 });
    await post('/set_tts_settings', { temperature: '0.3', speed: 'x' });
    expect((await get('/get_tts_settings')).json()).toMatchObject({ temperature: 0.3, speed: 1 });
  });

  test('set_tts_settings: a key of the key file sets its own sliders', async () => {
    const { get, post, asked } = world();
    const phone = { key: { name: 'phone', scopes: ['audio'], weight: 1, shared: false } };
    await post('/set_tts_settings', { speed: 1.5 }, phone);
    expect((await get('/get_tts_settings', '', phone)).json()).toMatchObject({ speed: 1.5 });
    expect((await get('/get_tts_settings')).json()).toMatchObject({ speed: 1 });
    for (const own of [{}, phone]) await post('/tts_to_audio', { text: 'Hello.' }, own);
    expect(asked.map(({ request }) => request.speed)).toEqual([1, 1.5]);
  });

  test('names sliders without effect in a header', async () => {
    const { headers } = await world().post('/set_tts_settings', { temperature: 1, speed: 1 });
    expect(headers['x-parley-ignored']).toBe('temperature');
  });
});

describe('XTTS lists', () => {
  test('speakers and speakers_list: have all voices', async () => {
    const { get } = world();
    const names = ['slt', 'rms', 'awb', 'aunt.wav'];
    expect((await get('/speakers_list')).json()).toEqual(names);
    expect((await get('/api/extra/speakers_list')).json()).toEqual(names);
  });

  test('speakers: have the address of a sample', async () => {
    const { get } = world();
    const list = (await get('/speakers', '', { headers: { host: 'box:5001' } })).json() as object[];
    expect(list[3]).toEqual({ name: 'aunt.wav', voice_id: 'aunt.wav', preview_url: 'http://box:5001/sample/aunt.wav' });
    expect(await get('/sample/aunt.wav')).toMatchObject({ status: 200, text: 'a sample' });
  });

  test.each(['secret.txt', '../routes.ts', '%2e%2e%2fsecret.txt', '%ff', 'slt', ''])(
    '/sample/%s is not found',
    async (name) => {
      expect((await world().get(`/sample/${name}x`)).status).toBe(404);
      if (name !== '') expect((await world().get(`/sample/${name}`)).status).toBe(404);
    },
  );

  test('languages, models and folders', async () => {
    const { get } = world();
    expect((await get('/languages')).json()).toMatchObject({ languages: { English: 'en', Chinese: 'zh-cn' } });
    expect((await get('/get_models_list')).json()).toEqual(['flite']);
    expect((await get('/get_folders')).json()).toEqual({ speaker_folder: '', output_folder: '', model_folder: '' });
  });

  test('are empty without a speech model', async () => {
    const { get } = world('none');
    expect((await get('/speakers_list')).json()).toEqual([]);
    expect((await get('/speakers')).json()).toEqual([]);
    expect((await get('/get_models_list')).json()).toEqual([]);
  });
});

describe('XTTS changes', () => {
  test('switch_model: accepts the loaded model', async () => {
    const reply = await world().post('/switch_model', { model_name: 'flite' });
    expect(reply.json()).toEqual({ message: 'Model switched to flite' });
  });

  test('switch_model: refuses another model', async () => {
    const { status, json } = await world().post('/switch_model', { model_name: 'v2.0.3' });
    expect([status, json()]).toEqual([400, { detail: expect.stringContaining('"v2.0.3"') }]);
  });

  test.each(['/set_output', '/set_speaker_folder'])('%s is refused', async (path) => {
    const { status, json } = await world().post(path, { output_folder: '/', speaker_folder: '/' });
    expect([status, json()]).toEqual([403, { detail: expect.stringContaining('cannot be chosen') }]);
  });
});

describe('POST /tts_to_file', () => {
  test('writes into the output folder of the server', async () => {
    const { post, outputFolder } = world();
    const sent = { text: 'Hello.', speaker_wav: 'slt', language: 'en', file_name_or_path: 'hello' };
    expect((await post('/tts_to_file', sent)).json()).toEqual({
      message: 'The audio was successfully made and stored.',
      output_path: 'hello.wav',
    });
    expect(await readFile(join(outputFolder, 'hello.wav'), 'utf8')).toBe('RIFFsound');
  });

  test('a key with a library of its own does not replace the files of others', async () => {
    const { post, outputFolder } = world();
    const save = (own: Partial<Call>) => post('/tts_to_file', { text: 'Hello.', file_name_or_path: 'hello' }, own);
    const keyNamed = (name: string, shared: boolean) => ({ key: { name, scopes: ['audio'], weight: 1, shared } });
    await save(keyNamed('anna', false));
    await save(keyNamed('ben', false));
    expect(await readdir(outputFolder)).toEqual([expect.stringMatching(/^anna-/), expect.stringMatching(/^ben-/)]);
    await save(keyNamed('family', true));
    expect(await readdir(outputFolder)).toContain('hello.wav');
  });

  test.each(['../escape', '/tmp/x.wav', 'a/b', ''])('refuses %j before any speech is generated', async (name) => {
    const { post, asked } = world();
    const { status } = await post('/tts_to_file', { text: 'Hello.', file_name_or_path: name });
    expect(status).toBe(422);
    expect(asked).toEqual([]);
    expect(await readdir(folder)).toEqual(['aunt.wav', 'secret.txt']);
  });

  test('removes a partial file', async () => {
    const { post } = world({ failure: lost });
    expect((await post('/tts_to_file', { text: 'Hello.', file_name_or_path: 'a' })).status).toBe(500);
    expect(await readdir(folder)).toEqual(['aunt.wav', 'secret.txt']);
  });
});

describe('XTTS errors', () => {
  test('missing field: 422 with a list', async () => {
    const { status, json } = await world().post('/tts_to_audio', { speaker_wav: 'x', language: 'en' });
    expect(status).toBe(422);
    expect(json()).toEqual({
      detail: [{ loc: ['body', 'text'], msg: 'input must be a text that is to be spoken.', type: 'value_error' }],
    });
  });

  test('tts_stream: needs a text', async () => {
    expect((await world().get('/tts_stream?speaker_wav=slt')).status).toBe(422);
  });

  test('accepts an unknown speaker or language', async () => {
    const { post, asked } = world();
    const { status } = await post('/tts_to_audio', { text: 'a', speaker_wav: '/home/me/x.wav', language: 'tlh' });
    expect(status).toBe(200);
    expect(['slt', 'rms', 'awb']).toContain(asked[0]?.request.voice);
  });

  test('null counts as missing', async () => {
    const { post, asked } = world();
    await post('/tts_to_audio', { text: 'a', input: null, speaker_wav: null, language: null });
    expect(asked[0]?.request).toMatchObject({ text: 'a', voice: 'slt', language: '' });
  });

  test('invalid JSON', async () => {
    const { status, json } = await world().post('/tts_to_audio', '{');
    expect([status, json()]).toEqual([400, { detail: expect.stringContaining('not valid JSON') }]);
  });

  test('no speech model: 503', async () => {
    const { status, json } = await world('none').post('/tts_to_audio', { text: 'a' });
    expect([status, json()]).toMatchObject([503, { detail: { type: 'service_unavailable' } }]);
  });

  test('lost engine', async () => {
    const { status, json } = await world({ refusal: lost }).post('/tts_to_audio', { text: 'a' });
    expect([status, json()]).toMatchObject([500, { detail: expect.stringContaining('speech engine stopped') }]);
  });

  test.each([xttsDialect, vitsDialect])('full queue: $name', (dialect) => {
    const reply = dialect.errorReply(new AppError('busy', { retryAfterSeconds: 3 }));
    expect(reply).toMatchObject({ status: 503, headers: { 'retry-after': '3' } });
    expect(JSON.parse('body' in reply ? String(reply.body) : '')).toMatchObject({
      detail: { type: 'service_unavailable' },
    });
  });
});

describe('VITS simple API', () => {
  test('lists voices by number, under all three names', async () => {
    const { json } = await world().get('/voice/speakers');
    expect(json()).toEqual({
      VITS: [
        { id: 0, lang: ['en'], name: 'slt' },
        { id: 1, lang: ['en'], name: 'rms' },
        { id: 2, lang: ['en'], name: 'awb' },
        { id: 3, lang: ['en'], name: 'aunt.wav' },
      ],
      'W2V2-VITS': [],
      'BERT-VITS2': [],
    });
  });

  test('generates speech by the number of a voice', async () => {
    const { get, asked } = world();
    const { status, headers } = await get('/voice/vits?text=Hello.&id=1&format=ogg&lang=en&length=2&noise=0.3');
    expect([status, headers['content-type']]).toEqual([200, 'audio/ogg']);
    expect(asked[0]?.request).toMatchObject({
      text: 'Hello.',
      voice: 'rms',
      format: 'opus',
      speed: 0.5,
      language: 'en',
    });
  });

  test.each([
    ['a form', 'text=Hello.&id=2&length=0.5', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['JSON', { text: 'Hello.', id: 2, length: 0.5 }, {}],
  ])('accepts %s', async (_, body, headers) => {
    const { post, asked } = world();
    expect((await post('/voice/vits', body, { headers })).status).toBe(200);
    expect(asked[0]?.request).toMatchObject({ text: 'Hello.', voice: 'awb', speed: 2, format: 'wav' });
  });

  test('accepts a multipart form', async () => {
    const { post, asked } = world();
    const fields = new Map([
      ['text', ['Hello.']],
      ['id', ['0']],
    ]);
    await post('/voice/vits', '', { form: { fields, files: [] } });
    expect(asked[0]?.request).toMatchObject({ text: 'Hello.', voice: 'slt' });
  });

  test.each([0, -1, 'x', 100])('length %j becomes a valid speed', async (length) => {
    const { post, asked } = world();
    await post('/voice/vits', { text: 'a', length });
    expect(asked[0]?.request.speed).toBeGreaterThanOrEqual(0.25);
    expect(asked[0]?.request.speed).toBeLessThanOrEqual(4);
  });

  test('has its own error shape', async () => {
    const { post, get } = world();
    expect((await post('/voice/vits', '')).status).toBe(400);
    expect((await get('/voice/vits')).json()).toMatchObject({ status: 'error', message: expect.any(String) });
  });

  test('/voice/check: fails without a speech model', async () => {
    expect((await world().get('/voice/check')).json()).toEqual({ status: 'success' });
    expect((await world('none').get('/voice/check')).status).toBe(503);
  });
});
