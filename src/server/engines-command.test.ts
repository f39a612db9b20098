import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { commandKind, readEngine } from '../config/engine.ts';
import { engineRecipes, enginesCommand, installed } from './engines-command.ts';

async function run(...args: readonly string[]) {
  const lines: string[] = [];
  const code = await enginesCommand({
    args,
    terminal: { line: (line = '') => void lines.push(line) },
    find: ({ program }) => (program === 'vllm' ? '/bin/vllm' : undefined),
  });
  return { code, text: lines.join('\n') };
}

test('parley engines: lists the recipes, and which programs are here', async () => {
  const { code, text } = await run();
  expect(code).toBe(0);
  expect(text).toContain('found: /bin/vllm');
  expect(text).toContain('not found here; get it from https://github.com/ggml-org/llama.cpp/releases');
});

test('installed: Python alone is not ComfyUI, whose own file has to be there', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-engines-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const python = join(folder, process.platform === 'win32' ? 'python3.exe' : 'python3');
  writeFileSync(python, '');
  const comfy = engineRecipes.find(({ title }) => title === 'ComfyUI') ?? { program: '' };
  const find = (recipe: Parameters<typeof installed>[0]) =>
    installed(recipe, { platform: process.platform, environment: { PATH: folder } } as never, [folder]);
  expect([find({ program: 'python3' }), find(comfy)]).toEqual([python, undefined]);
  mkdirSync(join(folder, 'ComfyUI'));
  writeFileSync(join(folder, 'ComfyUI', 'main.py'), '');
  expect([find(comfy), find({ program: 'vllm' })]).toEqual([join(folder, 'ComfyUI', 'main.py'), undefined]);
});

test('parley engines NAME: prints a config that is valid', async () => {
  for (const { title } of engineRecipes) {
    const reading = readEngine(JSON.stringify(JSON.parse((await run(title)).text).engine));
    expect(reading.ok && commandKind(reading.engine)).toBeTruthy();
  }
  expect(await run('--help')).toMatchObject({ code: 0, text: expect.stringContaining('parley engines NAME') });
  expect(await run('nothing')).toMatchObject({ code: 2, text: expect.stringContaining('parley engines NAME') });
});

test('docs/engines.md: has the config of every recipe', () => {
  const page = readFileSync(new URL('../../docs/engines.md', import.meta.url), 'utf8').replaceAll(/\s/g, '');
  for (const { engine } of engineRecipes) expect(page).toContain(JSON.stringify({ engine }).replaceAll(/\s/g, ''));
});
