import { describe, expect, test } from 'vitest';
import { AppError, asAppError } from '../../core/errors.ts';
import type { MusicRequest, MusicService } from '../../core/music.ts';
import type { RequestContext } from '../../core/request-context.ts';
import { type Dialect, json, type Reply } from '../../http/call.ts';
import { router } from '../../http/router.ts';
import { bindAll } from '../testing/bind.ts';
import { callOf } from '../testing/doubles.ts';
import { asking, type Proof, proveFidelity, tableOf } from '../testing/fidelity-proof.ts';
import { nativeDialect } from './errors.ts';
import { musicEndpoints } from './music.ts';

const dialect: Dialect = {
  name: 'test',
  title: 'Test',
  errorReply: (error) => json({ detail: { msg: error.message } }, error.status),
};

const prepare = '/api/extra/music/prepare';
const generate = '/api/extra/music/generate';

function world({ music: present = true, failure }: { music?: boolean; failure?: AppError } = {}) {
  const asked: { request: MusicRequest; requestContext: RequestContext }[] = [];
  const music: MusicService = {
    name: 'ace',
    async *generate(request, requestContext) {
      asked.push({ request, requestContext });
      yield { type: 'progress', stage: 'dit', step: 1, steps: 8 };
      yield { type: 'audio', bytes: Buffer.from('RI') };
      if (failure) throw failure;
      yield { type: 'audio', bytes: Buffer.from('FF') };
      yield { type: 'finish', seconds: 1 };
    },
  };
  const endpoints = bindAll(musicEndpoints({ dialect, newSeed: () => 4711 }), {
    taskServices: present ? { music } : {},
  });
  const post = async (body: unknown, path = generate): Promise<Reply & { body: string | Uint8Array }> => {
    const endpoint = router(endpoints).find('POST', path);
    if (!endpoint) throw new Error(`no endpoint for ${path}`);
    const reply = await Promise.resolve()
      .then(() => endpoint.handle(callOf(path, body)))
      .catch((error: unknown) => endpoint.dialect.errorReply(asAppError(error)));
    if ('stream' in reply) throw new Error('the reply is streamed');
    return reply;
  };
  return { post, asked, endpoints };
}

const noModel =
  'No music model is loaded. Start the server with --musicllm, --musicembeddings, --musicdiffusion and --musicvae.';

describe('POST /api/extra/music/prepare', () => {
  test('replies with all parameters, in the order that clients know', async () => {
    const { status, body } = await world().post({ caption: 'calm piano', bpm: '72' }, prepare);
    expect(status).toBe(200);
    expect(JSON.parse(String(body))).toEqual({
      caption: 'calm piano',
      lyrics: '',
      instrumental: false,
      bpm: 72,
      duration: -1,
      keyscale: '',
      timesignature: '',
      vocal_language: 'en',
      seed: 4711,
      lm_temperature: 0.9,
      lm_cfg_scale: 3,
      lm_top_p: 0.9,
      lm_top_k: 50,
      inference_steps: 8,
      guidance_scale: 1,
      shift: 3,
      codes_temperature: 1,
      codes_top_p: 0.99,
      codes_top_k: 1000,
      lm_rep_pen: 1.03,
      lm_negative_prompt: '',
      task_type: 'text2music',
      thinking: false,
      audio_codes: '',
    });
  });

  test('the reply can be posted to generate', async () => {
    const { post, asked } = world();
    const { body } = await post({ seed: 5, audio_codes: '1,2' }, prepare);
    expect((await post(JSON.parse(String(body)))).status).toBe(200);
    expect(asked[0]?.request).toMatchObject({ caption: 'An interesting song', seed: 5, codes: [1, 2] });
  });

  test('without a model the reply is an error with status 200', async () => {
    const { status, body } = await world({ music: false }).post({}, prepare);
    expect([status, JSON.parse(String(body))]).toEqual([200, { error: noModel }]);
  });
});

describe('POST /api/extra/music/generate', () => {
  test('replies with a WAV file', async () => {
    const { post, asked } = world();
    const { status, headers, body } = await post({ caption: 'calm piano' });
    expect([status, String(body)]).toEqual([200, 'RIFF']);
    expect(headers).toMatchObject({
      'content-type': 'audio/wav',
      'content-disposition': 'attachment; filename="output.wav"',
    });
    expect(asked[0]?.request).toMatchObject({ lyrics: undefined, bpm: undefined, seconds: undefined, stereo: true });
  });

  test.each([
    [{ use_mp3: true }, 'mp3'],
    [{ response_format: 'mp3' }, 'mp3'],
    [{ response_format: 'ogg' }, 'wav'],
  ])('%j is %s', async (fields, format) => {
    const { post, asked } = world();
    const { headers } = await post(fields);
    expect(asked[0]?.request.format).toBe(format);
    expect(headers).toMatchObject({ 'content-disposition': `attachment; filename="output.${format}"` });
  });

  test('without a model: 503', async () => {
    const { status, body } = await world({ music: false }).post({});
    expect([status, JSON.parse(String(body))]).toEqual([503, { detail: { msg: noModel } }]);
  });

  test('a song that fails on the way is an error, not half a file', async () => {
    const failure = new AppError('engine-failed', { capability: 'music', reason: 'out of memory' });
    expect((await world({ failure }).post({})).status).toBe(500);
  });

  test('both endpoints need the key', () => {
    expect(world().endpoints.map(({ access }) => access)).toEqual(['guarded', 'guarded']);
  });
});

const asks = (request: object): object => ({ request });
const proofs: Readonly<Record<string, Proof>> = {
  caption: { send: { caption: 'Other' }, asks: asks({ caption: 'Other' }), refuses: [{ caption: 'x'.repeat(10_001) }] },
  lyrics: { send: { lyrics: 'La' }, asks: asks({ lyrics: 'La' }) },
  instrumental: { send: { instrumental: true }, asks: asks({ lyrics: '[Instrumental]' }) },
  bpm: { send: { bpm: 90 }, asks: asks({ bpm: 90 }) },
  duration: { send: { duration: 1000 }, asks: asks({ seconds: 420 }) },
  keyscale: { send: { keyscale: 'C minor' }, asks: asks({ keyScale: 'C minor' }) },
  timesignature: { send: { timesignature: '3' }, asks: asks({ timeSignature: '3' }) },
  vocal_language: { send: { vocal_language: 'de' }, asks: asks({ language: 'de' }) },
  seed: { send: { seed: 7 }, asks: asks({ seed: 7 }) },
  lm_temperature: { send: { lm_temperature: 0.5 }, asks: asks({ planner: { temperature: 0.5 } }) },
  lm_cfg_scale: { send: { lm_cfg_scale: 2 }, asks: asks({ planner: { guidance: 2 } }) },
  lm_top_p: { send: { lm_top_p: 0.5 }, asks: asks({ planner: { topP: 0.5 } }) },
  lm_top_k: { send: { lm_top_k: 9 }, asks: asks({ planner: { topK: 9 } }) },
  audio_codes: {
    send: { audio_codes: '3, 4' },
    asks: asks({ codes: [3, 4] }),
    refuses: [{ audio_codes: 'x' }, { audio_codes: '64000' }, { audio_codes: '1,'.repeat(2101) }],
  },
  inference_steps: { send: { inference_steps: 500 }, asks: asks({ steps: 100 }) },
  guidance_scale: { send: { guidance_scale: 7 }, asks: asks({ guidance: 7 }) },
  shift: { send: { shift: 1 }, asks: asks({ shift: 1 }) },
  stereo: { send: { stereo: false }, asks: asks({ stereo: false }) },
  use_mp3: { send: { use_mp3: true }, asks: asks({ format: 'mp3' }) },
  response_format: { send: { response_format: 'mp3' }, asks: asks({ format: 'mp3' }) },
  genkey: { send: { genkey: 'K' }, asks: { requestContext: { genkey: 'K' } } },
  task_type: { send: { task_type: 'cover' } },
  music_reference_audio_data: { send: { music_reference_audio_data: 'UklGRg==' } },
};

proveFidelity({
  table: tableOf(musicEndpoints({ dialect: nativeDialect, newSeed: () => 1 }), 'POST /api/extra/music/prepare'),
  base: { caption: 'calm piano' },
  ask: asking(world, 'POST', generate),
  proofs,
  refusal: (reply) => expect(reply).toMatchObject({ detail: { msg: expect.any(String) } }),
});
