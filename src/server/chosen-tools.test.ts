import { expect, test } from 'vitest';
import { chooseAdapter, loadAdapter } from '../chat/adapters/load.ts';
import { noTemplate } from '../chat/prompt.ts';
import { defaultSettings, type Settings } from '../config/flags.ts';
import { fixedTextSource } from '../core/text-service.ts';
import type { ToolServers } from '../core/tool-servers.ts';
import { fakeEngine } from '../engines/testing/fake-engine.ts';
import { asked } from '../protocols/testing/asked.ts';
import { createApp } from './app.ts';

const servers: ToolServers = {
  list: async () =>
    ['tell_weather', 'tell_time'].map((name) => ({ name, description: name, inputSchema: { type: 'object' } })),
  call: async () => ({ content: [] }),
};

/** What a model with these settings is shown of a chat, and what the console says. */
async function shown(own: Partial<Settings>) {
  const prompts: string[] = [];
  const lines: string[] = [];
  const script = ({ prompt }: { prompt: string }) => {
    prompts.push(prompt);
    return { pieces: ['no'] };
  };
  const app = createApp({
    settings: { ...defaultSettings, ...own },
    source: fixedTextSource(fakeEngine({ script, pace: (next) => next() })),
    format: {
      adapter: chooseAdapter(await loadAdapter('ChatML', async () => undefined), undefined),
      templateText: undefined,
      template: async () => undefined,
      templateUse: noTemplate,
    },
    product: { name: 'Parley', version: '1.2.3' },
    tools: servers,
    observer: {},
    warn: (line) => void lines.push(line),
    onError: () => undefined,
    shutdown: () => undefined,
  });
  const messages = [{ role: 'user', content: 'Hi' }];
  const ask = () => asked(app.endpoints, 'POST', '/v1/chat/completions', { messages });
  expect([(await ask()).status, (await ask()).status]).toEqual([200, 200]);
  return { prompt: prompts.join('\n'), lines: lines.filter((line) => line.includes('mcptools')) };
}

test('--mcptools: only these tools are offered, also without --mcpserverloop', async () => {
  const { prompt, lines } = await shown({ mcptools: ['tell_time'] });
  expect(prompt).toContain('tell_time');
  expect(prompt).not.toContain('tell_weather');
  expect(lines).toEqual([]);
});

test('--mcptools: a name that no server has is reported once', async () => {
  const { lines } = await shown({ mcptools: ['tell_time', 'tell_tiem'] });
  expect(lines).toEqual(['--mcptools: no server has a tool tell_tiem.']);
});

test('--mcpserverloop: without --mcptools all tools are offered, and without both none', async () => {
  expect((await shown({ mcpserverloop: 2 })).prompt).toContain('tell_weather');
  expect((await shown({})).prompt).not.toContain('tell_time');
});
