import { describe, expect, test } from 'vitest';
import type { Agent } from './agent.ts';
import { agents } from './catalogue.ts';

const server = {
  url: 'http://127.0.0.1:5001',
  model: 'qwen3-8b',
  contextSize: 65_536,
  webSearch: false,
  key: 'secret',
};
const start = (name: string, own: Partial<typeof server> = {}) =>
  (agents[name] as Agent).start({ ...server, ...own }, '/tmp/session');
const linux = { home: '/home/ann', platform: 'linux', environment: {} };

describe('Claude Code', () => {
  test('the window makes it summarise at 80 % of the context, whatever its size', () => {
    const compactsAt = (contextSize: number) => {
      const { environment = {} } = start('claude', { contextSize });
      const [window, output] = ['CONTEXT', 'OUTPUT'].map((what) =>
        Number(environment[`CLAUDE_CODE_MAX_${what}_TOKENS`]),
      );
      return ((window ?? 0) - Math.min(output ?? 0, 20_000) - 13_000) / contextSize;
    };
    for (const size of [16_384, 32_768, 65_536, 262_144]) expect(compactsAt(size)).toBeCloseTo(0.8, 3);
  });

  test('every model name is the served one, and the key of another account is not sent', () => {
    const { environment = {} } = start('claude');
    const models = Object.entries(environment).filter(([name]) => name.endsWith('_MODEL'));
    expect(new Set(models.map(([, value]) => value))).toEqual(new Set(['qwen3-8b']));
    expect(environment).toMatchObject({ ANTHROPIC_AUTH_TOKEN: 'secret', ANTHROPIC_API_KEY: undefined });
  });
});

test('Codex: settings are arguments, and the key is in the environment only', () => {
  const { environment, arguments: words = [] } = start('codex');
  expect(words.filter((_, index) => index % 2 === 0)).toEqual(words.map(() => '-c').slice(0, words.length / 2));
  expect(words).toEqual(
    expect.arrayContaining([
      'model="qwen3-8b"',
      'model_context_window=65536',
      'model_providers.parley.wire_api="responses"',
    ]),
  );
  expect(words.join(' ')).not.toContain('secret');
  expect(words).toContain('web_search="disabled"');
  expect(start('codex', { webSearch: true }).arguments).toContain('web_search="live"');
  expect(environment).toEqual({ PARLEY_AGENT_KEY: 'secret' });
});

test('opencode: the config is in a variable, with the limits of the context', () => {
  const config = JSON.parse(start('opencode').environment?.OPENCODE_CONFIG_CONTENT ?? '');
  expect(config).toMatchObject({ model: 'parley/qwen3-8b', small_model: 'parley/qwen3-8b', autoupdate: false });
  expect(config.provider.parley.models['qwen3-8b'].limit).toEqual({ context: 65_536, output: 8192 });
});

describe('every agent', () => {
  const rows = Object.entries(agents);

  test.each(rows)('%s: the address, the model and the context reach it', (_, agent) => {
    const all = JSON.stringify([agent.start(server, '/tmp/session'), agent.files?.(server)]);
    expect(all).toContain(server.url);
    expect(all).toContain(server.model);
    expect(all).toMatch(/65536|73620/);
  });

  test.each(rows)('%s: files are read from the folder of the session', (_, agent) => {
    const started = JSON.stringify(agent.start(server, '/tmp/session'));
    expect(started.includes('/tmp/session')).toBe(agent.files !== undefined);
  });

  test.each(rows.filter(([, { config }]) => config))(
    '%s: its config gets the server and keeps the rest',
    (_, agent) => {
      const { config } = agent as Required<Agent>;
      const isToml = config.path(linux).endsWith('.toml');
      const text = config.withServer(isToml ? 'own = "kept"\n' : '{"own":"kept"}', server);
      for (const part of ['own', 'kept', server.url, server.model]) expect(text).toContain(part);
      expect(config.withServer(text, server)).toBe(text);
      expect(config.path(linux)).toMatch(/^\/home\/ann\/\.\w/);
      expect(config.path({ home: 'C:\\ann', platform: 'win32', environment: {} })).toMatch(/^C:\\ann\\\.\w/);
    },
  );
});
