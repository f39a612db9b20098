import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { ModelFolder } from '../library/model-folders.ts';
import { Terminal } from '../observe/terminal.ts';
import { rmCommand } from './rm-command.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-rm-'));
afterAll(() => rmSync(root, { recursive: true }));

/** A models folder with one model, and one of LM Studio. */
function computer() {
  const folder = mkdtempSync(join(root, 'models-'));
  const other = mkdtempSync(join(root, 'lm-studio-'));
  mkdirSync(join(folder, 'acme--Foo'));
  for (const name of ['Foo-Q4_0.gguf', 'mmproj-F16.gguf'])
    writeFileSync(join(folder, 'acme--Foo', name), Buffer.alloc(2_000_000));
  writeFileSync(join(other, 'Bar.gguf'), 'x');
  const modelFolders: ModelFolder[] = [{ program: 'LM Studio', folder: other, layout: 'files' }];
  const run = async (args: string[], answer?: string) => {
    let text = '';
    const write = (piece: string) => {
      text += piece;
    };
    const terminal = new Terminal({ interactive: false, columns: 80, write });
    const ask =
      answer === undefined
        ? undefined
        : async (question: string) => {
            write(question);
            return answer;
          };
    return { code: await rmCommand({ args, modelFolders, folder, terminal, ask }), text: () => text };
  };
  return { folder, other, run, model: join(folder, 'acme--Foo', 'Foo-Q4_0.gguf') };
}

test('rm: names the files, asks, and says how much is free again', async () => {
  const { run, folder } = computer();
  const { code, text } = await run(['Foo-Q4_0'], 'y');
  expect(code).toBe(0);
  expect(text()).toContain('mmproj-F16.gguf');
  expect(text()).toContain('Delete these 2 files (4 MB)? [y/N] ');
  expect(text()).toContain('Deleted. 4 MB are free again.');
  expect(existsSync(join(folder, 'acme--Foo'))).toBe(false);
});

test('rm: any other answer, or nobody to ask, deletes nothing', async () => {
  const { run, model } = computer();
  expect((await run(['Foo-Q4_0'], '')).code).toBe(2);
  const { code, text } = await run(['Foo-Q4_0']);
  expect(code).toBe(2);
  expect(text()).toContain('Nothing was deleted. To delete these 2 files (4 MB) without a question, add --yes.');
  expect(existsSync(model)).toBe(true);
});

test('rm --yes: asks nothing; a path of the folder is a name too', async () => {
  const { run, model } = computer();
  expect((await run([model, '--yes'])).code).toBe(0);
  expect(existsSync(model)).toBe(false);
});

test('rm: a model of another program stays, with the way to delete it there', async () => {
  const { run, other } = computer();
  const { code, text } = await run(['Bar', '--yes']);
  expect(code).toBe(3);
  expect(text()).toContain('Bar belongs to LM Studio. Delete it there in its list of models (My Models).');
  expect((await run([join(other, 'Bar.gguf'), '--yes'])).text()).toContain('is not in the models folder');
  expect(existsSync(join(other, 'Bar.gguf'))).toBe(true);
});

test('rm --admindir: deletes in that folder', async () => {
  const { run, other } = computer();
  expect((await run(['Bar', '--yes', '--admindir', other])).code).toBe(0);
  expect(existsSync(join(other, 'Bar.gguf'))).toBe(false);
});

test.each([[[]], [['a', 'b']], [['--force', 'a']]])('rm %j: shows the usage', async (args) => {
  const { code, text } = await computer().run(args);
  expect(code).toBe(2);
  expect(text()).toContain('parley rm NAME');
});
