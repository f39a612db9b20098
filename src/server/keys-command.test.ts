import { join } from 'node:path';
import { expect, test } from 'vitest';
import { KeyFile } from '../keys/key-file.ts';
import { freshFolders } from '../store/testing/folder.ts';
import { keysCommand } from './keys-command.ts';

const freshFolder = freshFolders();

function commands() {
  const defaultFile = join(freshFolder(), 'config', 'keys.json');
  const lines: string[] = [];
  const run = async (...args: string[]) => {
    lines.length = 0;
    const terminal = { line: (line: string) => void lines.push(line) };
    return keysCommand({ args, defaultFile, terminal, now: () => Date.UTC(2026, 5, 1) });
  };
  const stored = () => new KeyFile({ path: defaultFile, warn: () => {}, now: () => new Date(0) }).keys();
  return { run, lines, stored };
}

test('keys add: shows the key once, and stores its rules', async () => {
  const { run, lines, stored } = commands();
  const args = ['--scopes', 'chat,images', '--rate', '30/min', '--weight', '2', '--expires', '2027-01-31'];
  expect(await run('add', 'phone', ...args)).toBe(0);
  expect(lines[0]).toMatch(/^parley_/);
  expect(await stored()).toMatchObject([{ name: 'phone', scopes: ['chat', 'images'], rate: 30, weight: 2 }]);
  expect(await run('list')).toBe(0);
  expect(lines).toEqual(['phone                chat,images  30/min  weight 2  expires 2027-01-31']);
});

test('keys add: without scopes a key may do everything but administer', async () => {
  const { run, stored } = commands();
  await run('add', 'phone');
  expect((await stored())[0]?.scopes).toEqual(['text', 'chat', 'images', 'audio', 'embeddings', 'tools', 'documents']);
  expect(await run('add', 'phone')).toBe(2);
});

test('keys add --shared: the key uses the common library', async () => {
  const { run, lines, stored } = commands();
  await run('add', 'own');
  await run('add', 'family', '--shared');
  expect((await stored()).map(({ shared }) => shared)).toEqual([false, true]);
  await run('list');
  expect(lines.map((line) => line.endsWith('no rate  shared'))).toEqual([false, true]);
});

test.each([
  ['2M/day', 2_000_000],
  ['1.5k', 1500],
  ['70', 70],
])('keys add --tokens %s: stores the tokens per day', async (tokens, expected) => {
  const { run, lines, stored } = commands();
  await run('add', 'phone', '--tokens', tokens);
  expect((await stored())[0]?.tokensPerDay).toBe(expected);
  await run('list');
  expect(lines[0]).toContain(`${expected} tokens/day`);
});

test('keys --help: shows the usage; an unknown option is named', async () => {
  const { run, lines } = commands();
  expect(await run('--help')).toBe(0);
  expect(lines[0]).toMatch(/^parley keys list/);
  expect(await run('add', 'phone', '--scope', 'chat')).toBe(2);
  expect(lines[0]).toMatch(/^--scope is not an option here\. Did you mean --scopes\?\n\nparley keys list/);
  for (const args of [['add'], ['revoke'], ['forget', 'phone'], ['add', 'a', 'b']]) {
    expect(await run(...args)).toBe(2);
    expect(lines[0]).toMatch(/^parley keys list/);
  }
});

test('keys revoke: deletes a key', async () => {
  const { run, lines, stored } = commands();
  await run('add', 'phone');
  expect([await run('revoke', 'phone'), await run('revoke', 'phone')]).toEqual([0, 2]);
  expect(lines).toEqual(['There is no key phone.']);
  expect(await stored()).toEqual([]);
});

test.each([
  [['add'], 'parley keys list'],
  [['sell', 'x'], 'parley keys list'],
  [['add', 'a/b'], 'A name has'],
  [['add', 'a', '--scopes', 'chat,fly'], 'There is no scope fly'],
  [['add', 'a', '--rate', 'fast'], '--rate must be'],
  [['add', 'a', '--tokens', '0/day'], '--tokens must be'],
  [['add', 'a', '--tokens', '2M/week'], '--tokens must be'],
  [['add', 'a', '--weight', '0'], '--weight must be'],
  [['add', 'a', '--expires', '2027-02-30'], '--expires must be'],
  [['add', 'a', '--expires', '2026-13-01'], '--expires must be'],
  [['add', 'a', '--expires', '1969-12-31'], '--expires must be'],
  [['add', 'a', '--color', 'red'], '--color'],
])('keys %j: says what is wrong', async (args, sentence) => {
  const { run, lines } = commands();
  expect(await run(...args)).toBe(2);
  expect(lines.join('\n')).toContain(sentence);
});
