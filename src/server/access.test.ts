import { describe, expect, onTestFinished, test } from 'vitest';
import { accessTable } from '../../scripts/pages/tables.ts';
import type { Settings } from '../config/flags.ts';
import type { AccessRule } from '../http/call.ts';
import { builtApp } from './testing/built-app.ts';

const everything = await builtApp({ singleinstance: true, admin: true, savedatafile: 'x', multiplayer: true });
const rules = accessTable(everything);

/** A whole server without any model, behind a password. */
async function guarded(own: Partial<Settings> = {}): Promise<string> {
  const app = await builtApp({ password: 'secret', ...own });
  const { port } = await app.server.listen();
  onTestFinished(() => app.server.close());
  return `http://127.0.0.1:${port}`;
}

const post = (address: string, headers: Record<string, string> = {}) =>
  fetch(address, { method: 'POST', body: '{"prompt":"a boat"}', headers });
const basic = (pair: string) => ({ authorization: `Basic ${Buffer.from(pair).toString('base64')}` });

/** Paths that draw, speak, or show and stop drawings: open with --legacyopenpaths. */
const drawing = [
  '/tts_to_audio',
  '/set_tts_settings',
  '/switch_model',
  '/set_output',
  '/set_speaker_folder',
  '/sdapi/v1/txt2img',
  '/sdapi/v1/interrupt',
  '/v1/images/generations',
  '/prompt',
  '/interrupt',
];
const looking = [
  '/tts_stream?text=Hello.',
  '/sdapi/v1/progress',
  '/sdapi/v1/get_last.json?genkey=a',
  '/history',
  '/queue',
  '/view?filename=a.png',
];

describe('access: paths for administrators only', () => {
  const paths = [...rules].flatMap(([name, rule]) => (rule.adminOnly ? [name] : []));
  test('are those that load, unload and set adapters', () =>
    expect(paths).toEqual(['POST /lora-adapters', 'POST /models/load', 'POST /models/unload']));

  const ask = async (settings: Partial<Settings>, key: string) => {
    const base = await guarded(settings);
    const statuses = paths.map(async (path) => {
      const headers = { authorization: `Bearer ${key}` };
      return (await fetch(base + path.split(' ')[1], { method: 'POST', body: '{"model":"none"}', headers })).status;
    });
    return [...new Set(await Promise.all(statuses))];
  };

  test('refuse the password without --admin', async () => expect(await ask({}, 'secret')).toEqual([403]));
  test('refuse the plain password where there is --adminpassword', async () =>
    expect(await ask({ admin: true, adminpassword: 'boss' }, 'secret')).toEqual([403]));
  test('accept the key of --adminpassword, and the password where there is none', async () => {
    expect(await ask({ admin: true, adminpassword: 'boss' }, 'boss')).toEqual([400, 404]);
    expect(await ask({ admin: true }, 'secret')).toEqual([400, 404]);
  });
});

describe('behind a password', () => {
  test.each(drawing)('guard: POST %s needs the key', async (path) => {
    const base = await guarded();
    expect((await post(`${base}${path}`)).status).toBe(401);
    expect((await post(`${base}${path}`, basic('me:wrong'))).status).toBe(401);
    expect((await post(`${base}${path}`, { authorization: 'Bearer secret' })).status).not.toBe(401);
    expect((await post(`${base}${path}`, basic('me:secret'))).status).not.toBe(401);
  });

  test.each(looking)('guard: GET %s needs the key', async (path) => {
    const base = await guarded();
    expect((await fetch(`${base}${path}`)).status).toBe(401);
    expect((await fetch(`${base}${path}`, { headers: { authorization: 'Bearer secret' } })).status).not.toBe(401);
  });

  test.each(['/sdapi/v1/sd-models', '/sdapi/v1/options', '/object_info', '/system_stats', '/models/checkpoints'])(
    'guard: GET %s is open',
    async (path) => expect((await fetch(`${await guarded()}${path}`)).status).toBe(200),
  );

  test('guard: --legacyopenpaths opens these paths, and no others', async () => {
    const base = await guarded({ legacyopenpaths: true });
    for (const path of drawing) expect((await post(`${base}${path}`)).status, path).not.toBe(401);
    for (const path of looking) expect((await fetch(`${base}${path}`)).status, path).not.toBe(401);
    expect((await post(`${base}/v1/chat/completions`)).status).toBe(401);
  });

  test('guard: --legacyopenpaths still refuses pages of other origins', async () => {
    const base = await guarded({ legacyopenpaths: true });
    for (const path of drawing) {
      expect((await post(`${base}${path}`, { origin: 'https://evil.example' })).status, path).toBe(403);
    }
  });

  test('guard: takes the key as ?key= on /tts_stream, for audio elements', async () => {
    const base = await guarded();
    expect((await fetch(`${base}/tts_stream?text=a&key=secret`)).status).not.toBe(401);
    expect((await fetch(`${base}/tts_stream?text=a&key=guess`)).status).toBe(401);
  });

  test('guard: refuses plain posts of foreign pages to speech paths without a password', async () => {
    const base = await guarded({ password: '' });
    const headers = { origin: 'https://evil.example', 'content-type': 'text/plain' };
    for (const path of ['/tts_to_audio', '/set_tts_settings', '/switch_model'])
      expect((await post(`${base}${path}`, headers)).status, path).toBe(403);
    expect((await fetch(`${base}/tts_stream?text=a`, { headers })).status).toBe(403);
  });
});

describe('access table', () => {
  test('access table: two rows of one method and path have the same rule', () => {
    const rule = ({ access, changes, scope }: AccessRule) => ({ access, changes, scope });
    for (const endpoint of everything.endpoints) {
      const listed = rules.get(`${endpoint.method} ${endpoint.path}`);
      if (listed) expect(rule(listed), endpoint.path).toEqual(rule(endpoint));
    }
  });

  test('access table: leaves out only files of the pages, which are open', () => {
    const left = everything.endpoints.filter(({ method, path }) => !rules.has(`${method} ${path}`));
    expect(left.map(({ dialect, access, changes }) => [dialect.name, access, changes])).toEqual(
      left.map(() => ['pages', 'open', false]),
    );
  });

  test('access table: has the sockets of spoken conversations and of ComfyUI', () => {
    const sockets = [...rules.keys()].filter((path) => path.startsWith('SOCKET '));
    expect(sockets).toEqual(['SOCKET /v1/realtime', 'SOCKET /realtime', 'SOCKET /ws', 'SOCKET /api/ws']);
  });

  test('access table: every guarded path needs a scope, but for tokens and figures, and for streams, conversations and links, which only their owner may use', () => {
    const unscoped = [...rules].filter(([, { access, scope }]) => access !== 'open' && scope === undefined);
    expect(unscoped.map(([path]) => path).sort()).toEqual([
      'DELETE /api/extra/conversations',
      'DELETE /api/extra/stream/',
      'GET /api/extra/conversations',
      'GET /api/extra/models',
      'GET /api/extra/stream/',
      'GET /lora-adapters',
      'GET /metrics',
      'POST /api/extra/detokenize',
      'POST /api/extra/invitations',
      'POST /api/extra/json_to_grammar',
      'POST /api/extra/tokencount',
      'POST /api/extra/tokenize',
      'POST /apply-template',
      'POST /detokenize',
      'POST /tokenize',
    ]);
    expect(unscoped.filter(([, { changes }]) => changes).map(([path]) => path)).toEqual([
      'DELETE /api/extra/stream/',
      'POST /api/extra/invitations',
      'DELETE /api/extra/conversations',
    ]);
  });

  test('access table: speech that is generated, stored or set up is guarded', () => {
    const speech = [...rules].filter(
      ([path, { access }]) => access === 'guarded' && /tts_|voice|set_|switch/.test(path),
    );
    expect(speech.map(([path]) => path).sort()).toEqual([
      'GET /tts_stream',
      'GET /voice/vits',
      'POST /set_output',
      'POST /set_speaker_folder',
      'POST /set_tts_settings',
      'POST /switch_model',
      'POST /tts_to_audio',
      'POST /tts_to_file',
      'POST /voice/vits',
    ]);
  });

  test('access table: drawing and what shows or stops it is guarded, lists are open', () => {
    const sdapi = [...rules].filter(([path]) => path.includes('/sdapi/'));
    const guarded = sdapi.filter(([, { access }]) => access === 'guarded').map(([path]) => path);
    expect(guarded.filter((path) => path.startsWith('GET '))).toEqual([
      'GET /sdapi/v1/progress',
      'GET /sdapi/v1/get_last.json',
    ]);
    expect(sdapi.filter(([path]) => path.startsWith('POST ')).every(([path]) => guarded.includes(path))).toBe(true);
  });

  test.each([
    ['GET', '/noscript', 'open'],
    ['POST', '/noscript', 'guarded'],
    ['GET', '/api/extra/fidelity', 'open'],
    ['POST', '/mcp', 'guarded'],
    ['POST', '/v1/messages', 'guarded'],
    ['POST', '/messages', 'guarded'],
    ['POST', '/v1/messages/count_tokens', 'guarded'],
    ['GET', '/v1/messages/batches', 'guarded'],
    ['GET', '/v1/batches', 'guarded'],
    ['GET', '/v1/files', 'guarded'],
    ['POST', '/v1/chat/completions', 'guarded'],
    ['POST', '/v1/chat/completions/input_tokens', 'guarded'],
    ['POST', '/v1/responses', 'guarded'],
    ['POST', '/v1/responses/input_tokens', 'guarded'],
    ['GET', '/v1/responses/', 'guarded'],
    ['DELETE', '/responses/', 'guarded'],
    ['GET', '/v1/models', 'open'],
    ['GET', '/v1/', 'open'],
    ['POST', '/audio/speech', 'guarded'],
    ['GET', '/audio/voices', 'open'],
    ['GET', '/audio/models', 'open'],
    ['GET', '/api/extra/cache', 'guarded'],
    ['POST', '/api/extra/shutdown', 'guarded'],
    ['POST', '/api/extra/websearch', 'guarded'],
    ['POST', '/api/extra/data/load', 'guarded'],
    ['POST', '/api/extra/multiplayer/getstory', 'guarded'],
    ['GET', '/slots', 'guarded'],
    ['GET', '/health', 'open'],
    ['GET', '/props', 'open'],
    ['POST', '/api/admin/save_state', 'admin'],
  ])('access table: %s %s is %s', (method, path, access) => {
    expect(rules.get(`${method} ${path}`)).toMatchObject({ access });
  });

  test('access table: what makes or changes something is never open, but for signing in and out', () => {
    const signing = ['/api/extra/join', '/api/extra/session'];
    for (const { method, path, access, changes, rateLimited: queued } of everything.endpoints) {
      // Below /v1/ there is only the refusal of what is not there.
      if (path === '/v1/' || signing.includes(path)) continue;
      if (changes || queued) expect([method, path, access]).not.toContain('open');
      if (queued) expect([path, changes]).toEqual([path, true]);
    }
  });
});

test('endpoints: the inspector records what they are sent, but for polls, records of the pages, forms and administration', () => {
  const unrecorded = everything.endpoints.filter(
    ({ method, dialect, recorded }) => method !== 'GET' && dialect.name !== 'admin' && recorded === false,
  );
  expect(unrecorded.map(({ path }) => path).sort()).toEqual([
    '/api/extra/data/list',
    '/api/extra/data/load',
    '/api/extra/data/save',
    '/api/extra/generate/check',
    '/api/extra/last_logprobs',
    '/api/extra/memories',
    '/api/extra/memories/',
    '/api/extra/memories/',
    '/api/extra/memories/search',
    '/api/extra/memories/suggest',
    '/api/extra/multiplayer/getstory',
    '/api/extra/multiplayer/setstory',
    '/api/extra/multiplayer/status',
    '/api/extra/sync/list',
    '/api/extra/sync/load',
    '/api/extra/sync/save',
    '/api/extra/tokencount',
    '/chat/completions/input_tokens',
    '/noscript',
    '/v1/chat/completions/input_tokens',
  ]);
  const admin = everything.endpoints.filter(({ dialect }) => dialect.name === 'admin');
  expect(admin.filter(({ recorded }) => recorded !== false)).toEqual([]);
  const always = everything.endpoints.filter(({ method, recorded }) => method === 'GET' && recorded === true);
  expect(always.map(({ path }) => path)).toEqual(['/v1/', '/v1/realtime', '/realtime']);
});
