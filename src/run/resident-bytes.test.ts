import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { residentBytes } from './resident-bytes.ts';

const linux = process.platform === 'linux';

test('a process that is not there holds nothing that could be told', () => {
  expect(residentBytes(undefined)).toBeUndefined();
  expect(residentBytes(2 ** 22 + 1)).toBeUndefined();
});

test.runIf(linux)('those that a process started count with it', async () => {
  const own = residentBytes(process.pid) as number;
  const child = spawn(process.execPath, ['-e', 'console.log(1);process.stdin.resume()'], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  try {
    await once(child.stdout, 'data');
    const both = residentBytes(process.pid) as number;
    expect(residentBytes(child.pid)).toBeGreaterThan(10 * 2 ** 20);
    expect(both).toBeGreaterThan(residentBytes(child.pid) as number);
    expect(own).toBeGreaterThan(0);
  } finally {
    child.kill();
  }
});
