import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test, vi } from 'vitest';
import { nativeClient } from './client.ts';
import { type LiveServer, liveServers } from './server.ts';

const startServer = liveServers();
const fake = fileURLToPath(new URL('../../src/engines/program/testing/fake-engine.mjs', import.meta.url));
const engine = (name: string, ...args: readonly string[]) => [
  '--engine',
  JSON.stringify({
    name,
    kind: 'text',
    command: [process.execPath, fake, '--port', '${port}', ...args, `--mark=${name}`],
  }),
];

const chat = (server: LiveServer, model: string) =>
  nativeClient(server.base).post('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'Hi' }] });

/** Processes of this machine whose command has the text. */
function running(mark: string): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(mark);
      } catch {
        return false;
      }
    })
    .map(Number);
}

const linux = process.platform === 'linux';

describe('engine programs', () => {
  test.skipIf(!linux)('are loaded by name, listed, hidden from endpoints, and ended with the server', async () => {
    const [one, two] = [`one-${process.pid}`, `two-${process.pid}`];
    const server = await startServer([...engine(one), ...engine(two), '--inspect', '10', '--admin']);
    const client = nativeClient(server.base);
    expect(running(`--mark=${two}`)).toHaveLength(0);
    expect((await chat(server, two)).json()).toMatchObject({
      choices: [{ message: { content: 'word0 word1 word2 word3 ' } }],
    });
    expect(running(`--mark=${two}`)).toHaveLength(1);
    const lists = [
      '/v1/models',
      '/api/tags',
      '/api/extra/models',
      '/api/ps',
      '/api/extra/version',
      '/props',
      '/metrics',
    ];
    for (const path of [
      ...lists,
      '/api/extra/inspect',
      '/api/admin/list_options',
      '/api/admin/load_settings',
      '/openapi.json',
    ]) {
      expect((await client.get(path)).text).not.toContain('--mark=');
    }
    const { lines } = (await client.get(`/api/admin/engine_output?model=${two}`)).json() as { lines: string[] };
    expect(lines).toContain('fake engine, fault: none');
    expect(lines.join()).not.toContain('--mark=');
    expect((await client.get('/v1/models')).text).toContain(two);
    expect((await client.get('/api/tags')).text).toContain(two);
    expect(server.output()).toContain(`${two}: fake engine, fault: none`);
    await server.stop();
    expect(running(`--mark=${one}`)).toHaveLength(0);
    expect(running(`--mark=${two}`)).toHaveLength(0);
  });

  test.skipIf(!linux)('end with a server that is killed, also if they ignore SIGTERM', async () => {
    const name = `stubborn-${process.pid}`;
    const server = await startServer(engine(name, '--fault', 'ignores-stop'));
    expect((await chat(server, name)).status).toBe(200);
    expect(running(`--mark=${name}`)).toHaveLength(1);
    process.kill(server.pid, 'SIGKILL');
    await vi.waitUntil(() => running(`--mark=${name}`).length === 0, 20_000);
  });

  test('a killed program is an error of its request, and the next one is answered', async () => {
    const server = await startServer([...engine('dies', '--fault', 'dies-streaming'), ...engine('other')]);
    const { status, text } = await chat(server, 'dies');
    expect({ status, text }).toEqual({
      status: 500,
      text: expect.stringContaining(
        'The text engine stopped in the middle of this request; it is being started again.',
      ),
    });
    expect((await chat(server, 'other')).status).toBe(200);
  });

  test('a config of the models folder is a model, and a broken one an error of its requests', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'engines-'));
    const config = (args: readonly string[]) =>
      JSON.stringify({
        engine: { kind: 'text', command: [process.execPath, fake, '--port', '${port}', ...args], idle: '10m' },
      });
    writeFileSync(join(folder, 'good.kcpps'), config([]));
    writeFileSync(join(folder, 'bad.kcpps'), config(['--fault', 'dies-loading']));
    writeFileSync(join(folder, 'wrong.kcpps'), JSON.stringify({ engine: { command: ['x'] } }));
    const server = await startServer(['--routermode', '--admindir', folder, '--nomodel']);
    expect((await chat(server, 'good')).status).toBe(200);
    expect((await chat(server, 'bad')).text).toContain('it wrote: error: the model file is damaged');
    expect((await chat(server, 'wrong')).text).toContain('its command has no ${port}');
  });

  test.skipIf(!linux)(
    'no request brings a command: there is no endpoint of the launcher, and others ignore it',
    async () => {
      const mark = `--mark=sent-${process.pid}`;
      const folder = mkdtempSync(join(tmpdir(), 'engines-'));
      writeFileSync(join(folder, 'mini.kcpps'), JSON.stringify({ engine: JSON.parse(engine('mini')[1] ?? '') }));
      const server = await startServer(['--admin', '--routermode', '--admindir', folder, ...engine('mini')]);
      const client = nativeClient(server.base);
      const sent = { name: 'sent', kind: 'text', command: [process.execPath, fake, '--port', '${port}', mark] };
      const values = { engine: [JSON.stringify(sent)] };
      for (const name of ['launch', 'save', 'check', 'load', 'form', 'stop']) {
        const body = { values, path: folder, folder, name: 'sent', kind: 'config' };
        expect((await client.post(`/launcher/${name}`, body)).status, name).toBe(404);
        expect((await client.get(`/launcher/${name}`)).status, name).toBe(404);
      }
      const everywhere = { ...values, filename: 'sent.kcpps', model: 'sent', from: 'mini', baseconfig: 'mini.kcpps' };
      for (const path of [
        ...['/api/admin/load_settings', '/api/admin/reload_config', '/api/admin/save_config', '/api/create'],
        ...['/models/load', '/api/pull', '/v1/chat/completions', '/api/extra/engine', '/api/admin/engine_output'],
      ]) {
        const body = {
          ...everywhere,
          parameters: values,
          settings: values,
          messages: [{ role: 'user', content: 'Hi' }],
        };
        expect((await client.post(path, body)).text, path).not.toContain(mark);
      }
      await chat(server, 'sent');
      expect(running(mark)).toHaveLength(0);
      for (const name of readdirSync(folder)) expect(readFileSync(join(folder, name), 'utf8')).not.toContain(mark);
    },
  );
});
