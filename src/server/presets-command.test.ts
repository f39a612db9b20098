import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { Terminal } from '../observe/terminal.ts';
import { presetsCommand } from './presets-command.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-presets-command-'));
afterAll(() => rmSync(folder, { recursive: true }));

async function run(...args: readonly string[]) {
  const lines: string[] = [];
  const terminal = { line: (line: string) => lines.push(line) } as unknown as Terminal;
  return { code: await presetsCommand({ args, folder: '/nowhere', modelFolders: [], terminal }), lines };
}

test('parley presets: lists each with its base and its settings, or why it cannot be used', async () => {
  const cold = { base: 'qwen3', gendefaults: { temperature: 0, stop: ['END'] }, systemprompt: 'Be brief.' };
  writeFileSync(join(folder, 'cold.kcpps'), JSON.stringify(cold));
  writeFileSync(join(folder, 'large.kcpps'), JSON.stringify({ base: 'qwen3', contextsize: 512 }));
  writeFileSync(join(folder, 'plain.kcpps'), '{}');
  writeFileSync(join(folder, 'qwen3.gguf'), '');
  expect(await run('--admindir', folder)).toEqual({
    code: 0,
    lines: [
      'cold (qwen3:cold)  temperature 0, stop ["END"], systemprompt "Be brief."',
      'large (qwen3:large)  A preset cannot change how its base is loaded: contextsize belongs in a config of qwen3.',
    ],
  });
  const { lines } = await run('--json', '--admindir', folder);
  expect(JSON.parse(lines.join(''))).toMatchObject([{ name: 'cold', base: 'qwen3' }, { name: 'large' }]);
});

test('parley presets: a base that is missing, or leads back to the preset, is a problem', async () => {
  const own = join(folder, 'bases');
  mkdirSync(own);
  writeFileSync(join(own, 'left.kcpps'), JSON.stringify({ base: 'right' }));
  writeFileSync(join(own, 'lost.kcpps'), JSON.stringify({ base: 'nowhere', systemprompt: 'Be brief.' }));
  writeFileSync(join(own, 'right.kcpps'), JSON.stringify({ base: 'left' }));
  const { lines } = await run('--admindir', own);
  expect(lines).toEqual([
    'left (right:left)  Its base, right, is a preset too, and presets have one level only; name the model that it is for instead.',
    'lost (nowhere:lost)  Its base, nowhere, is no model on this machine; it works only with a server that has a model of that name.',
    'right (left:right)  Its base, left, is a preset too, and presets have one level only; name the model that it is for instead.',
  ]);
});

test('parley presets: says what a preset is where there are none, and how it is used', async () => {
  expect((await run()).lines).toEqual([expect.stringMatching(/^There are no presets in \/nowhere: /)]);
  expect(await run('all')).toMatchObject({ code: 2 });
});
