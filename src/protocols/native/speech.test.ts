import { describe, expect, test } from 'vitest';
import { asAppError } from '../../core/errors.ts';
import type { Reply } from '../../http/call.ts';
import { router } from '../../http/router.ts';
import { bindAll } from '../testing/bind.ts';
import { callOf } from '../testing/doubles.ts';
import { asking, type Proof, proveFidelity, tableOf } from '../testing/fidelity-proof.ts';
import { lost, type SpokenScript, scriptedSpeech } from '../testing/spoken.ts';
import { nativeSpeechEndpoint } from './speech.ts';

function world(script: SpokenScript | 'none' = {}) {
  const { speech, asked } = scriptedSpeech(script === 'none' ? {} : script);
  const endpoints = bindAll([nativeSpeechEndpoint], {
    taskServices: script === 'none' ? {} : { speech },
  });
  const post = async (body: unknown, path = '/api/extra/tts'): Promise<Reply & { body: string | Uint8Array }> => {
    const endpoint = router(endpoints).find('POST', path);
    if (!endpoint) throw new Error(`nobody answers ${path}`);
    const reply = await Promise.resolve()
      .then(() => endpoint.handle(callOf(path, body)))
      .catch((error: unknown) => endpoint.dialect.errorReply(asAppError(error)));
    if ('stream' in reply) throw new Error('it is streamed');
    return reply;
  };
  return { post, asked, endpoints };
}

describe('POST /api/extra/tts', () => {
  test('returns a whole WAV file', async () => {
    const { post, asked } = world();
    const { status, headers, body } = await post({ input: 'Hello.', voice: 'kobo' });
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-type': 'audio/wav',
      'content-disposition': 'attachment; filename="output.wav"',
    });
    expect(String(body)).toBe('RIFFsound');
    expect(asked[0]?.request).toMatchObject({ format: 'wav', streamed: false, speed: 1 });
  });

  test.each([
    [{ response_format: 'mp3' }, 'mp3'],
    [{ use_mp3: true }, 'mp3'],
    [{ use_mp3: 'true' }, 'mp3'],
    [{ response_format: 'opus' }, 'opus'],
    [{ response_format: 'aac' }, 'wav'],
    [{ response_format: 7 }, 'wav'],
  ])('%j gives %s', async (fields, format) => {
    const { post, asked } = world();
    await post({ input: 'a', ...fields });
    expect(asked[0]?.request.format).toBe(format);
  });

  test.each([
    [0, 0.25],
    [99, 4],
    ['2', 2],
    ['fast', 1],
  ])('speed %j is %d', async (speed, pace) => {
    const { post, asked } = world();
    await post({ input: 'a', speed });
    expect(asked[0]?.request.speed).toBe(pace);
  });

  test('has its own error shape', async () => {
    const { status, body } = await world().post({ input: '' });
    expect(status).toBe(400);
    const detail = { msg: 'input must be a text that is to be spoken.', type: 'bad_input' };
    expect(JSON.parse(String(body))).toEqual({ detail });
  });

  test('refuses an invalid body', async () => {
    const { status, body } = await world().post('{"input":');
    expect(status).toBe(400);
    expect(JSON.parse(String(body))).toMatchObject({ detail: { type: 'bad_input' } });
  });

  test('refuses without a speech model', async () => {
    const { status, body } = await world('none').post({ input: 'a' });
    expect(status).toBe(503);
    expect(JSON.parse(String(body))).toMatchObject({ detail: { type: 'service_unavailable' } });
  });

  test('fails if the speech fails in the middle', async () => {
    const { status, body } = await world({ failure: lost }).post({ input: 'a' });
    expect(status).toBe(500);
    expect(JSON.parse(String(body))).toMatchObject({ detail: { type: 'server_error' } });
  });
});

const asks = (request: object): object => ({ request });
const proofs: Readonly<Record<string, Proof>> = {
  input: { send: { input: 'Other.' }, asks: asks({ text: 'Other.' }), refuses: [{ input: 'x '.repeat(51) }] },
  text: { send: { input: undefined, text: 'Other.' }, asks: asks({ text: 'Other.' }) },
  voice: { send: { voice: 'onyx' }, asks: asks({ voice: 'rms' }) },
  speaker_wav: { send: { speaker_wav: 'rms' }, asks: asks({ voice: 'rms' }) },
  response_format: { send: { response_format: 'flac' }, asks: asks({ format: 'flac' }) },
  use_mp3: { send: { use_mp3: true }, asks: asks({ format: 'mp3' }) },
  speed: { send: { speed: 2 }, asks: asks({ speed: 2 }) },
  instruction: { send: { instruction: 'sing' }, asks: asks({ instruction: 'sing' }) },
  language: { send: { language: 'de' }, asks: asks({ language: 'de' }) },
  seed: { send: { seed: 7 }, asks: asks({ seed: 7 }) },
  genkey: { send: { genkey: 'K' }, asks: { requestContext: { genkey: 'K' } } },
};

proveFidelity({
  table: tableOf([nativeSpeechEndpoint], 'POST /api/extra/tts'),
  base: { input: 'Hello.' },
  ask: asking(world, 'POST', '/api/extra/tts'),
  proofs,
  refusal: (reply) => expect(reply).toMatchObject({ detail: { msg: expect.any(String) } }),
});
