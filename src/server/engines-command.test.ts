import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { commandKind, readEngine } from '../config/engine.ts';
import { engineRecipes, enginesCommand } from './engines-command.ts';

function run(...words: readonly string[]) {
  const lines: string[] = [];
  const code = enginesCommand(words, { line: (line = '') => void lines.push(line) }, (program) =>
    program === 'vllm' ? '/bin/vllm' : undefined,
  );
  return { code, text: lines.join('\n') };
}

test('parley engines: lists the recipes, and which programs are here', () => {
  const { code, text } = run();
  expect(code).toBe(0);
  expect(text).toContain('found: /bin/vllm');
  expect(text).toContain('not found here; get it from https://github.com/ggml-org/llama.cpp/releases');
});

test('parley engines NAME: prints a config that is valid', () => {
  for (const { title } of engineRecipes) {
    const reading = readEngine(JSON.stringify(JSON.parse(run(title).text).engine));
    expect(reading.ok && commandKind(reading.engine)).toBeTruthy();
  }
  expect(run('nothing')).toMatchObject({ code: 2, text: expect.stringContaining('parley engines NAME') });
});

test('docs/engines.md: has the config of every recipe', () => {
  const page = readFileSync(new URL('../../docs/engines.md', import.meta.url), 'utf8').replaceAll(/\s/g, '');
  for (const { engine } of engineRecipes) expect(page).toContain(JSON.stringify({ engine }).replaceAll(/\s/g, ''));
});
