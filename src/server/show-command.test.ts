import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { writeGguf } from '../../scripts/conversion/gguf-file.ts';
import type { ModelFolder } from '../library/model-folders.ts';
import { testHub } from '../library/testing/hub.ts';
import { openRegistry } from '../library/testing/registry.ts';
import { Terminal } from '../observe/terminal.ts';
import { ownMachine } from './own-machine.ts';
import { showCommand } from './show-command.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-show-'));
const modelFolders: ModelFolder[] = [{ program: 'LM Studio', folder: root, layout: 'files' }];
beforeAll(async () => {
  mkdirSync(join(root, 'acme', 'Foo'), { recursive: true });
  await writeGguf(join(root, 'acme', 'Foo', 'foo.gguf'), {
    metadata: {
      'general.architecture': { type: 'string', value: 'llama' },
      'general.license': { type: 'string', value: 'apache-2.0' },
      'llama.context_length': { type: 'uint32', value: 8192 },
      'tokenizer.chat_template': { type: 'string', value: '{% if tools %}<tool_call>{% endif %}<think>' },
    },
    tensors: [{ name: 'w', shape: [1000], type: 'F32', data: new Float32Array(1000) }],
  });
});
afterAll(() => rmSync(root, { recursive: true }));

async function show(args: string[], base = 'http://127.0.0.1:1') {
  let text = '';
  const write = (piece: string) => {
    text += piece;
  };
  const code = await showCommand({
    args,
    modelFolders,
    hub: { base, token: undefined, offline: false, registry: base },
    machine: { ...ownMachine(), memory: async () => ({ gpuBytes: [], mainBytes: 2 ** 34 }) },
    terminal: new Terminal({ interactive: false, columns: 80, write }),
    fetch,
  });
  return { code, text };
}

test('show: what a model on this machine is and can do, and where it is', async () => {
  const { code, text } = await show(['foo']);
  expect(code).toBe(0);
  expect(text).toMatch(/^Architecture: +llama$/m);
  expect(text).toMatch(/^Context length: +8,192$/m);
  expect(text).toMatch(/^Licence: +apache-2\.0$/m);
  expect(text).toMatch(/^Chat template: +present .*with tools, thinking$/m);
  expect(text).toMatch(/^Where: +.*foo\.gguf \(LM Studio\)$/m);
  expect(text).not.toContain('Metadata (');
});

test('show: facts and files of a model on the hub, which is not downloaded', async () => {
  const fields = {
    tags: ['gguf', 'license:mit'],
    gguf: { total: 4e9, architecture: 'llama', context_length: 4096, chat_template: 'tools' },
  };
  const files = {
    'F-Q4_K_M.gguf': Buffer.alloc(500),
    'F-Q8_0.gguf': Buffer.alloc(900),
    'mmproj-F16.gguf': Buffer.alloc(9),
  };
  const { base } = await testHub({ 'acme/Bar': { files, fields } });
  const { code, text } = await show(['acme/Bar'], base);
  expect(text).toMatch(/^Model: +acme\/Bar on the hub$/m);
  expect(text).toMatch(/^Parameters: +4,000,000,000$/m);
  expect(text).toMatch(/^Tools: +yes$/m);
  expect(text).toMatch(/^Licence: +mit$/m);
  expect(text).toMatch(/^\* +Q4_K_M/m);
  expect(text).toMatch(/Get it with: parley run acme\/Bar\n$/);
  expect(code).toBe(0);
});

test("show: layers and parameters of a model of Ollama's registry", async () => {
  const layers = { model: Buffer.alloc(2_000_000), params: '{"temperature":0.6}', system: 'Be\u001b[31m kind.' };
  const registry = await openRegistry({ 'library/bar:8b': { layers, config: { model_family: 'llama' } } });
  onTestFinished(registry.close);
  const { code, text } = await show(['bar:8b'], registry.base);
  expect(code).toBe(0);
  expect(text).toMatch(/^model: +2 MB$/m);
  expect(text).toContain('{"temperature":0.6}');
  expect(text).toContain('Be\\x1b[31m kind.');
});

test('show: a model that is nowhere, and wrong arguments', async () => {
  const { base } = await testHub({});
  expect(await show(['acme/none'], base)).toMatchObject({
    code: 3,
    text: expect.stringMatching(/^acme\/none: .* has no model/),
  });
  expect((await show(['none.gguf'])).code).toBe(2);
  expect((await show([])).text).toContain('parley show NAME');
});
