import { describe, expect, onTestFinished, test } from 'vitest';
import { createApp } from './app.ts';
import { chooseAdapter, loadAdapter } from './chat/adapters/load.ts';
import { defaultSettings, type Settings } from './config/flags.ts';
import { alwaysThere } from './core/text-source.ts';
import { noTextEngine } from './engines/none.ts';

/** A whole server without any model, behind a password. */
async function guarded(own: Partial<Settings> = {}): Promise<string> {
  const adapter = chooseAdapter(await loadAdapter('ChatML', async () => undefined), undefined);
  const app = createApp({
    settings: { ...defaultSettings, port: 0, host: '127.0.0.1', password: 'secret', ...own },
    source: alwaysThere(noTextEngine(4096)),
    format: { adapter, templateText: undefined, template: async () => undefined, templateTools: false },
    product: { name: 'Parley', version: '1.2.3' },
    observer: {},
    warn: () => undefined,
    onError: () => undefined,
    shutdown: () => undefined,
  });
  const { port } = await app.server.listen();
  onTestFinished(() => app.server.close());
  return `http://127.0.0.1:${port}`;
}

const post = (address: string, headers: Record<string, string> = {}) =>
  fetch(address, { method: 'POST', body: '{"prompt":"a boat"}', headers });
const basic = (pair: string) => ({ authorization: `Basic ${Buffer.from(pair).toString('base64')}` });

/** What draws, and what shows or stops what others draw. */
const drawing = ['/sdapi/v1/txt2img', '/sdapi/v1/interrupt', '/v1/images/generations', '/prompt', '/interrupt'];
const looking = [
  '/sdapi/v1/progress',
  '/sdapi/v1/get_last.json?genkey=a',
  '/history',
  '/queue',
  '/view?filename=a.png',
];

describe('behind a password', () => {
  test.each(drawing)('POST %s needs the key', async (path) => {
    const base = await guarded();
    expect((await post(`${base}${path}`)).status).toBe(401);
    expect((await post(`${base}${path}`, basic('me:wrong'))).status).toBe(401);
    expect((await post(`${base}${path}`, { authorization: 'Bearer secret' })).status).not.toBe(401);
    expect((await post(`${base}${path}`, basic('me:secret'))).status).not.toBe(401);
  });

  test.each(looking)('GET %s needs the key', async (path) => {
    const base = await guarded();
    expect((await fetch(`${base}${path}`)).status).toBe(401);
    expect((await fetch(`${base}${path}`, { headers: basic('me:secret') })).status).not.toBe(401);
  });

  test.each(['/sdapi/v1/sd-models', '/sdapi/v1/options', '/object_info', '/system_stats', '/models/checkpoints'])(
    'GET %s tells what there is to everybody',
    async (path) => expect((await fetch(`${await guarded()}${path}`)).status).toBe(200),
  );

  test('all of it is left open where that is wanted, for apps that send no key', async () => {
    const base = await guarded({ legacyopenpaths: true });
    for (const path of drawing) expect((await post(`${base}${path}`)).status, path).not.toBe(401);
    for (const path of looking) expect((await fetch(`${base}${path}`)).status, path).not.toBe(401);
    expect((await post(`${base}/v1/chat/completions`)).status).toBe(401);
  });

  test('pages of others can start nothing even then', async () => {
    const base = await guarded({ legacyopenpaths: true });
    for (const path of drawing) {
      expect((await post(`${base}${path}`, { origin: 'https://evil.example' })).status, path).toBe(403);
    }
  });
});
