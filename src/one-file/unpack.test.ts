import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { type Contents, endRun, programFolder, unpackProgram } from './unpack.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-one-file-'));
afterAll(() => rmSync(root, { recursive: true }));

/** A one-file program with these files, whose bytes arrive in chunks of this size. */
function packed(files: Readonly<Record<string, string>>, chunkBytes = 4) {
  const all = Buffer.from(Object.values(files).join(''));
  const contents: Contents = {
    sha256: createHash('sha256').update(all).digest('hex'),
    files: Object.entries(files).map(([path, text]) => ({
      path,
      bytes: Buffer.byteLength(text),
      executable: path.startsWith('bin/'),
    })),
  };
  async function* bytes(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < all.length; at += chunkBytes) yield all.subarray(at, at + chunkBytes);
  }
  return { contents, bytes };
}

function parts(folder = mkdtempSync(join(root, 'cache-')), alive: readonly number[] = []) {
  const shares: number[] = [];
  return {
    folder,
    pid: 7,
    isAlive: (pid: number) => pid === 7 || alive.includes(pid),
    progress: (share: number) => void shares.push(share),
    shares,
  };
}

const unread = (): AsyncIterable<Uint8Array> => {
  throw new Error('the archive was read');
};

const files = { 'dist/main.js': 'import', 'dist/empty.js': '', 'bin/tool': '#!tool', 'models/a/b.gguf': 'weights' };

describe('unpackProgram', () => {
  test.each([1, 4, 1000])('writes all files from chunks of %i bytes', async (chunkBytes) => {
    const { contents, bytes } = packed(files, chunkBytes);
    const { shares, ...where } = parts();
    const program = await unpackProgram(contents, bytes, where);
    expect(program).toBe(programFolder(where.folder, contents));
    for (const [path, text] of Object.entries(files)) expect(readFileSync(join(program, path), 'utf8')).toBe(text);
    if (process.platform !== 'win32') expect(statSync(join(program, 'bin/tool')).mode & 0o100).toBe(0o100);
    expect(shares.at(-1)).toBe(1);
  });

  test('does not read the archive if all files are there', async () => {
    const { contents, bytes } = packed(files);
    const where = parts();
    const program = await unpackProgram(contents, bytes, where);
    expect(await unpackProgram(contents, unread, where)).toBe(program);
  });

  test('unpacks again if a file is missing or has another size', async () => {
    const { contents, bytes } = packed(files);
    const where = parts();
    const program = await unpackProgram(contents, bytes, where);
    rmSync(join(program, 'bin/tool'));
    writeFileSync(join(program, 'dist/main.js'), 'cut');
    await unpackProgram(contents, bytes, where);
    expect(readFileSync(join(program, 'bin/tool'), 'utf8')).toBe('#!tool');
    expect(readFileSync(join(program, 'dist/main.js'), 'utf8')).toBe('import');
  });

  test.each<[string, Partial<Contents>]>([
    ['a wrong hash', { sha256: '0'.repeat(64) }],
    ['too few bytes', { files: [...packed(files).contents.files, { path: 'more', bytes: 1, executable: false }] }],
    ['too many bytes', { files: packed(files).contents.files.slice(0, 2) }],
  ])('rejects %s and leaves no program', async (_, wrong) => {
    const { contents, bytes } = packed(files);
    const where = parts();
    await expect(unpackProgram({ ...contents, ...wrong }, bytes, where)).rejects.toThrow('download it again');
    expect(readdirSync(where.folder).filter((name) => !name.includes('running'))).toEqual([]);
  });

  test('removes other versions, except those of running processes', async () => {
    const where = parts(undefined, [8]);
    for (const name of ['old', 'used', 'used.running-8', 'stale', 'stale.running-9', 'stale.part-9']) {
      mkdirSync(join(where.folder, name));
    }
    const { contents, bytes } = packed(files);
    const program = await unpackProgram(contents, bytes, where);
    const own = program.slice(where.folder.length + 1);
    expect(readdirSync(where.folder).sort()).toEqual([own, `${own}.running-7`, 'used', 'used.running-8'].sort());
  });
});

test('endRun: removes the file of the process, and only that', async () => {
  const where = parts();
  const { contents, bytes } = packed(files);
  const program = await unpackProgram(contents, bytes, where);
  endRun(program, where.pid);
  expect(readdirSync(where.folder)).toEqual([program.slice(where.folder.length + 1)]);
  expect(existsSync(join(program, 'dist/main.js'))).toBe(true);
});
