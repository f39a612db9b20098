import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { stripElf } from '../scripts/strip-elf.mjs';

test('local.parley.plist: no comment has two dashes in it, such as those of a flag, which XML does not allow', () => {
  const text = readFileSync(new URL('../packaging/launchd/local.parley.plist', import.meta.url), 'utf8');
  const comments = [...text.matchAll(/<!--([\s\S]*?)-->/g)].map(([, comment]) => comment);
  expect(comments.length).toBeGreaterThan(0);
  expect(comments.filter((comment) => comment?.includes('--'))).toEqual([]);
});

/** An executable with these sections after the null one, each with its bytes. */
function elf(sections: readonly { readonly loaded: boolean; readonly bytes: Buffer }[]): Buffer {
  const names = Buffer.from('\0.shstrtab\0');
  const all = [...sections, { loaded: false, bytes: names }];
  const head = Buffer.alloc(0x40);
  head.write('\x7fELF\x02\x01', 'latin1');
  const headers = [Buffer.alloc(0x40)];
  let at = head.length;
  for (const { loaded, bytes } of all) {
    const header = Buffer.alloc(0x40);
    header.writeUInt32LE(1, 0x04);
    header.writeBigUInt64LE(loaded ? 2n : 0n, 0x08);
    header.writeBigUInt64LE(BigInt(at), 0x18);
    header.writeBigUInt64LE(BigInt(bytes.length), 0x20);
    headers.push(header);
    at += bytes.length;
  }
  head.writeBigUInt64LE(BigInt(at), 0x28);
  head.writeUInt16LE(0x40, 0x3a);
  head.writeUInt16LE(headers.length, 0x3c);
  head.writeUInt16LE(headers.length - 1, 0x3e);
  return Buffer.concat([head, ...all.map(({ bytes }) => bytes), ...headers]);
}

/** The bytes of each section. */
function sectionsOf(file: Buffer): string[] {
  const table = Number(file.readBigUInt64LE(0x28));
  return Array.from({ length: file.readUInt16LE(0x3c) }, (_, index) => {
    const header = file.subarray(table + index * 0x40, table + (index + 1) * 0x40);
    const at = Number(header.readBigUInt64LE(0x18));
    return file.subarray(at, at + Number(header.readBigUInt64LE(0x20))).toString('latin1');
  });
}

const [code, symbols] = [Buffer.from('code and data'), Buffer.alloc(5000, 's')];

test('stripElf: removes the sections that are not loaded, and keeps their names', () => {
  const stripped = stripElf(
    elf([
      { loaded: true, bytes: code },
      { loaded: true, bytes: code },
      { loaded: false, bytes: symbols },
    ]),
  );
  expect(sectionsOf(stripped)).toEqual(['', 'code and data', 'code and data', '\0.shstrtab\0']);
  expect(stripped.length).toBeLessThan(1000);
});

test('stripElf: leaves other files as they are', () => {
  const mixed = elf([
    { loaded: false, bytes: symbols },
    { loaded: true, bytes: code },
  ]);
  for (const file of [mixed, Buffer.from('MZ, a program of Windows')]) expect(stripElf(file)).toBe(file);
});
