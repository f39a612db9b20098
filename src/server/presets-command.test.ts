import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { Terminal } from '../observe/terminal.ts';
import { presetsCommand } from './presets-command.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-presets-command-'));
afterAll(() => rmSync(folder, { recursive: true }));

async function run(...words: readonly string[]) {
  const lines: string[] = [];
  const terminal = { line: (line: string) => lines.push(line) } as unknown as Terminal;
  return { code: await presetsCommand({ words, folder: '/nowhere', terminal }), lines };
}

test('parley presets: lists each with its base and its settings, or why it cannot be used', async () => {
  const cold = { base: 'qwen3', gendefaults: { temperature: 0, stop: ['END'] }, systemprompt: 'Be brief.' };
  writeFileSync(join(folder, 'cold.kcpps'), JSON.stringify(cold));
  writeFileSync(join(folder, 'large.kcpps'), JSON.stringify({ base: 'qwen3', contextsize: 512 }));
  writeFileSync(join(folder, 'plain.kcpps'), '{}');
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

test('parley presets: says what a preset is where there are none, and how it is used', async () => {
  expect((await run()).lines).toEqual([expect.stringMatching(/^There are no presets in \/nowhere: /)]);
  expect(await run('all')).toMatchObject({ code: 2 });
});
