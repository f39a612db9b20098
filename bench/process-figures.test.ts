import { expect, test } from 'vitest';
import { megabytesTogether } from './process-figures.ts';

const mapping = (path: string, resident: number, anonymous: number): string =>
  `7f00-7f01 r-xp 00000000 08:01 42   ${path}\nSize: 9000 kB\nRss: ${resident} kB\nAnonymous: ${anonymous} kB\nVmFlags: rd ex\n`;

test('megabytesTogether: counts a file that two processes have mapped once, and what each has alone', () => {
  const server = [mapping('/usr/bin/node', 30_720, 0), mapping('/usr/bin/node', 1024, 1024), mapping('', 2048, 2048)];
  const worker = [
    mapping('/usr/bin/node', 40_960, 0),
    mapping('/a model.gguf', 5120, 0),
    mapping('[heap]', 1024, 1024),
  ];
  expect(megabytesTogether([server.join(''), worker.join('')])).toBe(40 + 5 + 1 + 2 + 1);
});
