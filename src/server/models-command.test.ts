import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { writeGguf } from '../../scripts/conversion/gguf-file.ts';
import type { Recommendation } from '../core/models-view.ts';
import { defaultMemory } from '../engines/llama/model-shape.ts';
import type { ModelFolder } from '../library/model-folders.ts';
import { testHub } from '../library/testing/hub.ts';
import { openRegistry } from '../library/testing/registry.ts';
import { Terminal } from '../observe/terminal.ts';
import { modelsCommand } from './models-command.ts';
import { pullCommand } from './pull-command.ts';
import { searchCommand } from './search-command.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-models-'));
const folder = join(root, 'models');
const modelFolders: ModelFolder[] = [{ program: 'LM Studio', folder, layout: 'files' }];
beforeAll(async () => {
  mkdirSync(join(folder, 'two'), { recursive: true });
  await writeGguf(join(folder, 'small.gguf'), {
    metadata: {
      'general.architecture': { type: 'string', value: 'llama' },
      'llama.context_length': { type: 'uint32', value: 8192 },
    },
    tensors: [{ name: 'w', shape: [2_000_000], type: 'F32', data: new Float32Array(2_000_000) }],
  });
  copyFileSync(join(folder, 'small.gguf'), join(folder, 'two', 'copy.gguf'));
  writeFileSync(join(folder, 'broken.gguf'), 'GGUF?');
});
afterAll(() => rmSync(root, { recursive: true }));

function terminal() {
  let text = '';
  const write = (piece: string): void => {
    text += piece;
  };
  const output = { interactive: false, columns: 80, write };
  return { terminal: new Terminal(output), text: () => text };
}

async function run(...args: string[]) {
  const screen = terminal();
  const code = await modelsCommand({ args, modelFolders, terminal: screen.terminal });
  return { code, text: screen.text() };
}

describe('parley models', () => {
  test('list: shows the models with their facts, and marks damaged files', async () => {
    const { code, text } = await run();
    expect(code).toBe(0);
    expect(text).toMatch(/^NAME +SIZE +WEIGHTS +TYPE +CONTEXT +MODIFIED +FROM$/m);
    expect(text).toMatch(/^small +8 MB +2 M +F32 +8,192 +\d{4}-\d\d-\d\d +LM Studio$/m);
    expect(text).toMatch(/^broken +damaged: /m);
  });

  test('list: names the searched folders if none has a model', async () => {
    const screen = terminal();
    await modelsCommand({
      args: [],
      modelFolders: [{ program: 'Jan', folder: join(root, 'none'), layout: 'files' }],
      terminal: screen.terminal,
    });
    expect(screen.text()).toMatch(/No models were found in the folders of Jan\.\n.*parley pull/);
  });

  test('list --json: writes JSON', async () => {
    const { text } = await run('--json');
    expect(JSON.parse(text)).toHaveLength(3);
  });

  test('show, verify and path: accept a name or a path', async () => {
    expect((await run('show', 'small')).text).toContain('Architecture:');
    expect((await run('path', 'copy')).text.trim()).toBe(join(folder, 'two', 'copy.gguf'));
    expect((await run('verify', join(folder, 'small.gguf'))).text).toMatch(/whole, 8 MB, sha256 [0-9a-f]{64}$/m);
  });

  test.each([['show'], ['verify']])('%s: a damaged file fails with its reason', async (action) => {
    const { code, text } = await run(action, 'broken');
    expect(code).toBe(3);
    expect(text).toContain('broken.gguf: ');
  });

  test.each([[['--help']], [['list', '--help']], [['verify', '-h']], [['path', 'a', '--help']]])(
    '%j shows the usage, and is no error',
    async (args) => {
      const { code, text } = await run(...args);
      expect(code).toBe(0);
      expect(text).toMatch(/^parley list/);
    },
  );

  test.each([
    [['show', 'nothing']],
    [['show']],
    [['dance']],
    [['list', 'x']],
    [['path', 'a', 'b']],
    [['path', '--x']],
    [['list', '--x']],
  ])('%j fails with the usage', async (args) => {
    const { code, text } = await run(...args);
    expect(code).toBe(2);
    expect(text).toMatch(/parley (models|list)/);
  });
});

describe('parley pull', () => {
  const pull = async (args: string[], base = 'http://127.0.0.1:1') => {
    const screen = terminal();
    const code = await pullCommand({
      args,
      folder: join(root, 'pulled'),
      environment: {},
      terminal: screen.terminal,
      fetch,
      hub: { base, token: undefined, offline: false, registry: base },
      findPackage: () => Promise.reject(new Error('npm does not know it')),
      now: () => 0,
      machine: {
        memory: async () => ({ gpuBytes: [], mainBytes: 64e9 }),
        options: { ...defaultMemory, marginBytes: 0 },
        contextSize: 4096,
      },
    });
    return { code, text: screen.text() };
  };

  test("downloads a model of Ollama's registry, and says how to run it", async () => {
    const registry = await openRegistry({ 'library/foo:8b': { layers: { model: 'weights' } } });
    onTestFinished(registry.close);
    const { code, text } = await pull(['foo:8b'], registry.base);
    expect(code).toBe(0);
    expect(text).toMatch(/Saved: .*foo-8b\.gguf\nStart it with: .* run foo:8b\n$/);
  });

  test('--insecure: allows a registry of the own network', async () => {
    const registry = await openRegistry({ 'a/b:c': { layers: { model: 'weights' } } });
    onTestFinished(registry.close);
    const name = `${new URL(registry.base).host}/a/b:c`;
    expect((await pull([name])).text).toContain('is not on the internet');
    expect((await pull([name, '--insecure'])).code).toBe(0);
  });

  test.each([
    [[]],
    [['no name']],
    [['a/b/c.gguf', '--sha256', 'short']],
    [['a/b/c.gguf', '--what']],
    [['a/b/c.gguf', 'd']],
    [['a/b/c.gguf', '--to']],
  ])('%j fails with the usage', async (args) => {
    const { code, text } = await pull(args);
    expect(code).toBe(2);
    expect(text).toContain('parley pull SOURCE');
  });

  test('reports a failure in one sentence', async () => {
    const { code, text } = await pull(['npm:nothing']);
    expect(code).toBe(3);
    expect(text).toBe('npm:nothing could not be fetched: npm does not know it\n');
  });

  test('names the file and how to start it', async () => {
    const files = { 'new.gguf': readFileSync(join(folder, 'small.gguf')), 'mmproj-F16.gguf': Buffer.from('GGUF') };
    const { base } = await testHub({ 'owner/name': { files } });
    const { code, text } = await pull(['owner/name'], base);
    expect(code).toBe(0);
    expect(text).toContain('100% (8 of 8 MB)');
    expect(text).toContain(`Start it with: parley --model "${join(root, 'pulled', 'owner--name', 'new.gguf')}"`);
    expect(text).toMatch(/For pictures and sound add: --mmproj ".*mmproj-F16\.gguf"/);
    expect(text).toContain('new is taken. It fits in memory at a good speed with a context of 4,096.');
  });

  test('refuses an architecture that cannot be loaded, unless asked with --anyway', async () => {
    const path = join(root, 'odd.gguf');
    const weights = { name: 'w', shape: [8], type: 'F32', data: new Float32Array(8) } as const;
    const metadata = { 'general.architecture': { type: 'string', value: 'odd' } } as const;
    await writeGguf(path, { metadata, tensors: [weights] });
    const { base } = await testHub({ 'owner/odd': { files: { 'odd-Q8_0.gguf': readFileSync(path) } } });
    const { code, text } = await pull(['owner/odd:Q8_0'], base);
    expect(code).toBe(3);
    expect(text).toContain('its architecture (odd) cannot be loaded by this version of Parley');
    expect((await pull(['owner/odd', '--anyway'], base)).code).toBe(0);
  });
});

describe('parley search', () => {
  const gguf = { total: 8.2e9, architecture: 'qwen3', context_length: 40_960, chat_template: '{{ tools }}' };
  const found = {
    'acme/Foo-8B-GGUF': {
      files: { 'a.gguf': Buffer.of(1) },
      fields: { gguf, downloads: 12_345, tags: ['license:mit'] },
    },
    'acme/Foo-2B-GGUF': { files: {}, gated: 'auto' as const },
    'acme/Foo-1B-GGUF': { files: {}, fields: { gguf: { ...gguf, architecture: 'odd' } } },
  };
  const recommendation: Recommendation = {
    purpose: 'chat',
    name: 'Foo 8B',
    model: 'acme/Foo-8B-GGUF:Q4_K_M',
    search: null,
    pack: null,
    file: null,
    sha256: null,
    bytes: 5.2e9,
    licence: 'MIT',
    why: 'It answers.',
  };
  const search = async (args: string[], base: string) => {
    const screen = terminal();
    const hub = { base, token: undefined, offline: false };
    const recommended = async () => ({ date: '2026-10', memoryBytes: 8e9, models: [recommendation] });
    const code = await searchCommand({ args, hub, terminal: screen.terminal, fetch, recommended });
    return { code, text: screen.text() };
  };

  test('lists models of all pages, and how to download one', async () => {
    const { base } = await testHub(found);
    const { code, text } = await search(['foo'], base);
    expect(code).toBe(0);
    expect(text).toMatch(/^acme\/Foo-8B-GGUF +8\.2B +qwen3 +40k context +12k downloads +tools, mit$/m);
    expect(text).toMatch(/^acme\/Foo-2B-GGUF .*needs consent$/m);
    expect(text).toMatch(/^acme\/Foo-1B-GGUF .*cannot be loaded, tools$/m);
    expect(text).toMatch(/Download one with: parley pull acme\/Foo-8B-GGUF\n$/);
  });

  test('without words: the models that are recommended for this computer', async () => {
    const { code, text } = await search([], 'http://127.0.0.1:1');
    expect(code).toBe(0);
    expect(text).toContain('Recommended for this computer with 8.0 GB of memory (state: 2026-10):');
    expect(text).toContain('chat  Foo 8B  5.2 GB  parley pull acme/Foo-8B-GGUF:Q4_K_M  It answers. MIT.');
    expect(JSON.parse((await search(['--json'], 'http://127.0.0.1:1')).text)).toEqual([recommendation]);
  });

  test('escapes what could change the terminal', async () => {
    const fields = { gguf: { ...gguf, architecture: 'a\u001b[2Jb' }, tags: ['license:\u202emit'] };
    const { base } = await testHub({ 'acme/Foo-GGUF': { files: {}, fields } });
    const { text } = await search(['foo'], base);
    expect(text).toContain('a\\x1b[2Jb');
    expect(text).toContain('\\u202emit');
  });

  test('--json and --count: so many models for scripts', async () => {
    const { base } = await testHub(found);
    const { text } = await search(['foo', '--json', '--count', '1'], base);
    expect(JSON.parse(text)).toMatchObject([{ id: 'acme/Foo-8B-GGUF', architecture: 'qwen3' }]);
  });

  test('says that nothing was found, and what to do', async () => {
    const { base } = await testHub(found);
    expect((await search(['nothing'], base)).text).toMatch(/no models .* Try fewer or other words/);
  });

  test('fails with the reason', async () => {
    const { code, text } = await search(['foo'], 'http://127.0.0.1:1');
    expect(code).toBe(3);
    expect(text).toMatch(
      /^The hub could not be searched: cannot reach 127\.0\.0\.1:1: .*Check the network connection\.\n$/,
    );
  });

  test.each([[['--sort', 'size', 'x']], [['x', '--count', '0']], [['x', '--what']]])(
    '%j fails with the usage',
    async (args) => {
      const { code, text } = await search(args, 'http://127.0.0.1:1');
      expect(code).toBe(2);
      expect(text).toContain('parley search [WORDS]');
    },
  );
});
