import { expect, test } from 'vitest';
import { defaultSettings } from '../../config/flags.ts';
import type { Performance, TextService, TextState } from '../../core/text-service.ts';
import type { Call, Reply } from '../../http/call.ts';
import { router } from '../../http/router.ts';
import { bindAll } from '../testing/bind.ts';
import { callOf, idlePerformance, seeing } from '../testing/doubles.ts';
import { cacheEndpoint, type InfoContext, infoEndpoints } from './info.ts';

const before: Performance = { ...idlePerformance, seed: -1, uptimeSeconds: 1, idleSeconds: 1 };

/** A test double: a service of which only the state and the figures are asked. */
function parts(state: TextState, own: Partial<InfoContext> = {}, performance = before): InfoContext {
  const service: Partial<TextService> = { state: () => state, contextSize: () => 8192, performance: () => performance };
  return {
    text: service as TextService,
    product: { name: 'Parley', version: '0.1.0', commit: '1a2b3c' },
    engineVersions: () => ({ text: { llama: '3' } }),
    modelName: () => 'koboldcpp/mini',
    serverFeatures: () => ({ protected: true, admin: 2 }),
    engineFeatures: () => ({ txt2img: true, tts: false }),
    counters: () => ({ total_img_gens: 1, total_tts_gens: 2, total_transcribe_gens: 3 }),
    seesPrompts: () => true,
    settings: { ...defaultSettings, jinja: true },
    ...own,
  };
}

async function get(all: InfoContext, path: string, authorized = true): Promise<unknown> {
  const endpoint = router(bindAll(infoEndpoints, all)).find('GET', path);
  const reply = (await endpoint?.handle({ authorized } as Call)) as Reply;
  expect(reply).toMatchObject({ status: 200, headers: { 'content-type': 'application/json' } });
  return JSON.parse('body' in reply ? Buffer.from(reply.body).toString() : '');
}

const loading: TextState = { type: 'loading', name: 'mini', progress: 0.25 };
const none: TextState = { type: 'none' };

test.each<[string, unknown]>([
  ['/api/v1/model', { result: 'koboldcpp/mini' }],
  ['/api/latest/model', { result: 'koboldcpp/mini' }],
  ['/api/v1/config/max_length', { value: 1024 }],
  ['/api/v1/config/max_context_length', { value: 8192 }],
  ['/api/v1/config/soft_prompt', { value: '' }],
  ['/api/latest/config/soft_prompts_list', { values: [] }],
  ['/api/v1/info/version', { result: '1.2.5' }],
  ['/api/extra/true_max_context_length', { value: 8192 }],
  ['/api/extra/preloadstory', {}],
  ['/ping', { status: 'healthy' }],
])('GET %s: answers %o', async (path, body) => {
  expect(await get(parts(loading), path)).toEqual(body);
});

test('advertised limits: never more context than there is', async () => {
  const limited = parts(none, { settings: { ...defaultSettings, hordegenlen: 300, hordemaxctx: 2048 } });
  expect(await get(limited, '/api/v1/config/max_length')).toEqual({ value: 300 });
  expect(await get(limited, '/api/v1/config/max_context_length')).toEqual({ value: 2048 });
  const generous = parts(none, { settings: { ...defaultSettings, hordemaxctx: 99_999 } });
  expect(await get(generous, '/api/v1/config/max_context_length')).toEqual({ value: 8192 });
});

test('info: without the key the model name is hidden, and the story is empty', async () => {
  const all = parts(none, { preloadStory: '{"story":1}' });
  expect(await get(all, '/api/v1/model', false)).toEqual({ result: 'koboldcpp/protected-model' });
  expect(await get(all, '/api/extra/preloadstory', false)).toEqual({});
  expect(await get(all, '/api/extra/preloadstory')).toEqual({ story: 1 });
});

test('version: has every feature in order, and the name of this program', async () => {
  const reply = (await get(parts(loading), '/api/extra/version')) as object;
  expect(Object.keys(reply).join(' ')).toBe(
    'result version protected llm txt2img tts vision audio multiplayer websearch savedata router guidance jinja mcp ' +
      'documents memories admin parley',
  );
  expect(reply).toMatchObject({
    result: 'KoboldCpp',
    version: '1.122.1',
    protected: true,
    llm: true,
    txt2img: true,
    tts: false,
    vision: false,
    admin: 2,
    jinja: true,
    parley: { name: 'Parley', version: '0.1.0', commit: '1a2b3c', engines: { text: { llama: '3' } } },
  });
  expect(await get(parts(none), '/api/extra/version')).toMatchObject({ llm: false });
});

test('version: without a commit if the build has none', async () => {
  const unknown = parts(none, { product: { name: 'Parley', version: '0.1.0' } });
  const { parley } = (await get(unknown, '/api/extra/version')) as { parley: object };
  expect(parley).toEqual({ name: 'Parley', version: '0.1.0', engines: { text: { llama: '3' } } });
});

test('perf: zeros for a server that has done nothing', async () => {
  expect(await get(parts(none), '/api/extra/perf')).toEqual({
    last_process: 0,
    last_eval: 0,
    last_token_count: 0,
    last_input_count: 0,
    last_reused_count: 0,
    last_process_time: 0,
    last_eval_time: 0,
    last_process_speed: 0,
    last_eval_speed: 0,
    last_seed: -1,
    last_draft_success: 0,
    last_draft_failed: 0,
    total_gens: 0,
    stop_reason: -1,
    total_img_gens: 1,
    total_tts_gens: 2,
    total_transcribe_gens: 3,
    queue: 0,
    queue_estimate: 0,
    idle: 1,
    hordeexitcounter: -1,
    uptime: 1,
    idletime: 1,
    quiet: false,
    loading: null,
  });
});

test('perf: times and speeds follow from the figures per token', async () => {
  const busy = {
    ...before,
    processMsPerToken: 2,
    evalMsPerToken: 10,
    promptTokens: 80,
    processedTokens: 50,
    completionTokens: 20,
    idle: false,
  };
  const asked = parts(loading, {}, { ...busy, stop: 'stop-text', waiting: 4, estimateSeconds: 30 });
  expect(await get(asked, '/api/extra/perf')).toMatchObject({
    last_input_count: 80,
    last_process_time: 0.1,
    last_eval_time: 0.2,
    last_process_speed: 500,
    last_eval_speed: 100,
    stop_reason: 2,
    queue: 4,
    queue_estimate: 30,
    idle: 0,
    loading: { name: 'mini', progress: 0.25 },
  });
});

test('perf: a model that loads on demand is not loading', async () => {
  const asleep = parts({ ...loading, progress: 0, asleep: true } as TextState);
  expect(await get(asleep, '/api/extra/perf')).toMatchObject({ loading: null });
  expect(await get(asleep, '/api/extra/version')).toMatchObject({ llm: true });
});

test('perf: has the reason if a model failed to load', async () => {
  const failed: TextState = { type: 'failed', name: 'mini', reason: 'the file is cut off' };
  expect(await get(parts(failed), '/api/extra/perf')).toMatchObject({
    loading: null,
    failed: { name: 'mini', reason: 'the file is cut off' },
  });
});

test('serviceinfo: has both APIs', async () => {
  expect(await get(parts(none), '/.well-known/serviceinfo')).toMatchObject({
    version: '0.2',
    software: { name: 'Parley', version: '0.1.0' },
    api: { koboldai: { rel_url: '/api', version: '1.2.5' }, openai: { rel_url: '/v1', 'rel_url ': '/v1' } },
  });
});

test('version: vision and audio are those of the loaded model', async () => {
  const seen = await get(parts(seeing({ image: true, audio: false })), '/api/extra/version');
  expect(seen).toMatchObject({ vision: true, audio: false });
  expect(await get(parts(loading), '/api/extra/version')).toMatchObject({ vision: false, audio: false });
});

const cacheReport = async () => ({
  slots: [
    { tokens: 12, busy: false },
    { tokens: 90, busy: true, checkpoints: { count: 2, bytes: 640 } },
  ],
  memory: { snapshots: 1, bytes: 50, limitBytes: 90 },
  disk: { snapshots: 2, bytes: 99, health: { otherBytes: 7, failures: 1, lastFailure: 'The disk is full' } },
  misses: [{ time: 0, partedAt: 5, promptTokens: 9, reusedTokens: 4, before: 'a', kept: 'b', wanted: 'c' }],
});
const cacheSeenBy = async (seesPrompts: boolean) => {
  const parts = { text: { cacheReport }, seesPrompts: () => seesPrompts };
  const reply = await cacheEndpoint.handle(callOf('/api/extra/cache', {}), parts);
  return JSON.parse(String('body' in reply ? reply.body : ''));
};

test('cache: words of prompts are for those who may see the prompts of all', async () => {
  const { misses } = await cacheSeenBy(false);
  expect(misses).toMatchObject([{ parted_at: 5, prompt_tokens: 9, before: '', kept: '', wanted: '' }]);
});

test('cache: guarded, with the names of this dialect', async () => {
  expect(await cacheSeenBy(true)).toEqual({
    slots: [
      { tokens: 12, busy: false },
      { tokens: 90, busy: true, checkpoints: { count: 2, bytes: 640 } },
    ],
    memory: { snapshots: 1, bytes: 50, limit_bytes: 90 },
    disk: { snapshots: 2, bytes: 99, other_bytes: 7, failures: 1, last_failure: 'The disk is full' },
    misses: [
      {
        time: '1970-01-01T00:00:00.000Z',
        parted_at: 5,
        prompt_tokens: 9,
        reused_tokens: 4,
        before: 'a',
        kept: 'b',
        wanted: 'c',
      },
    ],
  });
});
