import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { nativeClient } from './client.ts';
import { sharedUntilTie, withTokens } from './near-tie.ts';
import { untrainedServers } from './server.ts';

const start = untrainedServers();
const story = (topic: string) =>
  Array.from({ length: 30 }, (_, line) => `Line ${line} about ${topic}: ${line * 7}.`).join('\n');

interface Report {
  readonly success: boolean;
  readonly old_states: readonly { tokens: number; size: number }[];
  readonly new_state_size: number;
  readonly new_tokens: number;
}

describe('saved states', () => {
  let client: ReturnType<typeof nativeClient>;
  beforeAll(async () => {
    client = nativeClient((await start(['--quiet', '--contextsize', '1024', '--admin'])).base);
  });
  const ask = async (name: string, body: object = {}) =>
    (await client.post(`/api/admin/${name}`, body)).json() as Report;

  const request = (prompt: string) => withTokens({ prompt, max_length: 12, temperature: 0 });
  async function complete(prompt: string) {
    const reply = await client.generate(request(prompt));
    return { reply, cached: (await client.performance()).last_reused_count };
  }

  test('load_state: restores a chat that another one has replaced', async () => {
    expect(await ask('save_state')).toEqual({ success: false, new_state_size: 0, new_tokens: 0 });
    const first = story('trees');
    const fresh = await complete(first);
    const saved = await ask('save_state', { slot: 2 });
    expect(saved.success).toBe(true);
    expect(saved.new_tokens).toBeGreaterThan(200);
    await complete(story('ships'));
    const { old_states: places, new_tokens: present } = await ask('check_state');
    expect(places.map(({ tokens }) => tokens)).toEqual([0, 0, saved.new_tokens, 0, 0]);
    expect(places[2]?.size).toBe(saved.new_state_size);
    expect(present).toBeGreaterThan(0);
    expect(await ask('load_state', { slot: 2 })).toEqual({ success: true, new_tokens: saved.new_tokens });
    const again = await complete(first);
    expect(again.cached).toBe(again.reply.prompt_tokens - 1);
    await sharedUntilTie(client, request(first), again.reply, fresh.reply);
    expect(await ask('clear_state')).toEqual({ success: true });
    expect(await ask('load_state', { slot: 2 })).toEqual({ success: false, new_tokens: 0 });
  });

  test('features report saved states', async () => {
    expect((await client.get('/api/extra/version')).json()).toMatchObject({ admin: 1 });
  });
});

test('save_state: waits for the running generation and saves its result', async () => {
  const { base } = await start(['--quiet', '--contextsize', '1024', '--admin']);
  const client = nativeClient(base);
  const writing = client.generate({ prompt: story('clouds'), max_length: 700, ban_eos_token: true, genkey: 'clouds' });
  await client.begun('clouds');
  const saving = client.post('/api/admin/save_state', {});
  await client.performanceWhere(({ queue }) => queue === 1);
  // A look needs no turn.
  expect((await client.post('/api/admin/check_state')).json()).toMatchObject({ success: true });
  await client.post('/api/extra/abort', { genkey: 'clouds' });
  const { prompt_tokens: read, completion_tokens: written } = await writing;
  const saved = (await saving).json() as Report;
  expect(saved.success).toBe(true);
  expect(saved.new_tokens).toBeGreaterThanOrEqual(read + written - 1);
});

test('save_state with several slots: saves the latest chat; its next prompt reuses the loaded state', async () => {
  const { base } = await start(['--quiet', '--contextsize', '1024', '--admin', '--parallelrequests', '3']);
  const client = nativeClient(base);
  const prompts = ['trees', 'ships', 'clouds', 'towns'].map(story);
  const run = async (prompt: string) => {
    const answer = await client.post('/v1/completions', { prompt, max_tokens: 4, temperature: 0 });
    const { usage } = answer.json() as { usage: { prompt_tokens_details: { cached_tokens: number } } };
    return usage.prompt_tokens_details.cached_tokens;
  };
  const [first = '', second = '', third = '', fourth = ''] = prompts;
  await run(first);
  await run(second);
  const saved = (await client.post('/api/admin/save_state', { slot: 1 })).json() as Report;
  // All three slots now hold something else.
  for (const prompt of [third, fourth, `${first} More.`]) await run(prompt);
  expect(await run(`RemoteModel. ${third}`)).toBeLessThan(100);
  expect((await client.post('/api/admin/load_state', { slot: 1 })).json()).toMatchObject({
    success: true,
    new_tokens: saved.new_tokens,
  });
  expect(await run(second)).toBeGreaterThan(200);
});

test('--adminpassword: is needed for admin paths only, and no other key opens them', async () => {
  const { base } = await start(['--quiet', '--admin', '--adminpassword', 'inner', '--password', 'outer']);
  const check = async (key: string) =>
    (await nativeClient(base, { authorization: `Bearer ${key}` }).post('/api/admin/check_state')).json();
  expect(await check('outer')).toEqual({ success: false, old_states: [], new_state_size: 0, new_tokens: 0 });
  expect(await check('inner')).toMatchObject({ success: true });
  expect((await nativeClient(base).get('/api/extra/version')).json()).toMatchObject({ admin: 2 });
});

test('--admindir: without the folder the admin paths stay closed, with a warning', async () => {
  const folder = join(tmpdir(), 'parley-no-such-folder');
  const server = await start(['--quiet', '--admin', '--admindir', folder]);
  const client = nativeClient(server.base);
  expect((await client.post('/api/admin/clear_state')).json()).toEqual({ success: false });
  expect((await client.get('/api/extra/version')).json()).toMatchObject({ admin: 0 });
  await server.says(`--admindir ${folder} is no folder: the admin paths stay closed.`);
});
