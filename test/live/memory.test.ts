import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { nativeClient } from './client.ts';
import { type LiveServer, liveServers } from './server.ts';

const start = liveServers();
const flags = ['--parallelrequests', '16', '--batchall', '--multiuser', '16', '--contextsize', '4096', '--usecpu'];
const prompts = Array.from({ length: 16 }, (_, index) => `Once upon a time there were ${index + 2} bears who`);

const residentMegabytes = (pid: number | undefined): number =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

async function answersOf({ base }: LiveServer): Promise<string[]> {
  const client = nativeClient(base);
  const answers = await Promise.all(prompts.map((prompt) => client.generate({ prompt })));
  return answers.map(({ text }) => text);
}

test.runIf(process.platform === 'linux')(
  'sixteen sequences: unwritten cache cells take no memory, and the texts do not change',
  async () => {
    const sparing = await start(flags);
    const answers = await answersOf(sparing);
    const spared = residentMegabytes(sparing.worker());
    await sparing.stop();
    const locking = await start([...flags, '--usemlock']);
    expect(await answersOf(locking)).toEqual(answers);
    const whole = residentMegabytes(locking.worker());
    expect(spared).toBeLessThan(whole / 3);
  },
);
