import { createHash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { type Contents, endRun, programFolder, settleFiles, unpackProgram } from './unpack.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-one-file-'));
afterAll(() => rmSync(root, { recursive: true }));

/** A one-file program with these files, whose bytes arrive in chunks of this size. */
function packed(files: Readonly<Record<string, string>>, chunkBytes = 4) {
  const all = Buffer.from(Object.values(files).join(''));
  const sha256 = (content: string | Buffer) => createHash('sha256').update(content).digest('hex');
  const contents: Contents = {
    sha256: sha256(all),
    files: Object.entries(files).map(([path, text]) => ({
      path,
      bytes: Buffer.byteLength(text),
      sha256: sha256(text),
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

/** Of the folder itself and of these files, by path. */
function inodes(program: string, paths: readonly string[]) {
  return Object.fromEntries(['', ...paths].map((path) => [path, statSync(join(program, path)).ino]));
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

  test('replaces a file of the same size with other bytes, and leaves all others as they are', async () => {
    const { contents, bytes } = packed(files);
    const where = parts();
    const program = await unpackProgram(contents, bytes, where);
    await settleFiles(program, contents);
    const before = inodes(program, Object.keys(files));
    writeFileSync(join(program, 'models/a/b.gguf'), 'WEIGHTS');
    // A process that runs from the folder has it open.
    const open = openSync(join(program, 'dist/main.js'), 'r');
    onTestFinished(() => closeSync(open));
    await unpackProgram(contents, bytes, where);
    expect(readFileSync(join(program, 'models/a/b.gguf'), 'utf8')).toBe('weights');
    expect(inodes(program, ['', 'dist/main.js', 'bin/tool'])).toEqual(
      expect.objectContaining({
        '': before[''],
        'dist/main.js': before['dist/main.js'],
        'bin/tool': before['bin/tool'],
      }),
    );
    expect(await unpackProgram(contents, unread, where)).toBe(program);
  });

  test('checks a file whose time has changed, and does not unpack it if its hash is right', async () => {
    const { contents, bytes } = packed(files);
    const where = parts();
    const program = await unpackProgram(contents, bytes, where);
    await settleFiles(program, contents);
    const settled = statSync(join(program, 'bin/tool')).mtimeMs;
    utimesSync(join(program, 'bin/tool'), new Date(), new Date());
    expect(await unpackProgram(contents, unread, where)).toBe(program);
    await settleFiles(program, contents);
    expect(statSync(join(program, 'bin/tool')).mtimeMs).toBe(settled);
  });

  test('two first starts at once: both use the folder of the one that ended first', async () => {
    const { contents, bytes } = packed(files);
    const { folder } = parts();
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    async function* late(): AsyncGenerator<Uint8Array> {
      await released;
      yield* bytes();
    }
    const isAlive = (pid: number) => [7, 8].includes(pid);
    const second = unpackProgram(contents, late, { ...parts(folder), isAlive, pid: 8 });
    const program = await unpackProgram(contents, bytes, { ...parts(folder), isAlive, pid: 7 });
    const before = inodes(program, Object.keys(files));
    release();
    expect(await second).toBe(program);
    expect(inodes(program, Object.keys(files))).toEqual(before);
    expect(readdirSync(folder).filter((name) => name.includes('.part-'))).toEqual([]);
  });

  test('rejects an archive that cannot be decompressed', async () => {
    async function* damaged(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('imp');
      throw new Error('Data corruption detected');
    }
    const where = parts();
    await expect(unpackProgram(packed(files).contents, damaged, where)).rejects.toThrow('download it again');
    expect(readdirSync(where.folder).filter((name) => !name.includes('running'))).toEqual([]);
  });

  test('says which file cannot be replaced', async () => {
    const { contents, bytes } = packed(files);
    const where = parts();
    const program = await unpackProgram(contents, bytes, where);
    rmSync(join(program, 'bin/tool'));
    mkdirSync(join(program, 'bin/tool/x'), { recursive: true });
    await expect(unpackProgram(contents, bytes, where)).rejects.toThrow(
      /bin.tool is damaged and cannot be replaced .* End other Parley programs first$/,
    );
  });

  test.each<[string, Partial<Contents>]>([
    ['a wrong hash', { files: packed({ ...files, 'bin/tool': '#!fool' }).contents.files }],
    ['too few bytes', { files: packed({ ...files, more: 'x' }).contents.files }],
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
