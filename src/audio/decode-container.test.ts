import type { spawn } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { decodeAac } from './decode-container.ts';

test('decodeAac: without file descriptors for ffmpeg the request is refused for now', async () => {
  const start = (() => {
    // As in Node: there are no pipes, and the error comes in the next tick.
    const child = Object.assign(new EventEmitter(), { pid: undefined, kill: () => false });
    process.nextTick(() => child.emit('error', Object.assign(new Error('spawn ffmpeg EMFILE'), { code: 'EMFILE' })));
    return child;
  }) as unknown as typeof spawn;
  const { signal } = new AbortController();
  const chunks = decodeAac([Uint8Array.of(1)], 'AAC sound', { signal, maxSeconds: 60 }, start);
  await expect(chunks.next()).rejects.toMatchObject({
    code: 'engine-down',
    status: 503,
    message: expect.stringContaining('too many files are open'),
  });
});
