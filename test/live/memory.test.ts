import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type NativeResult, nativeClient } from './client.ts';
import { expectMostlyShared, sharedUntilTie, withTokens } from './near-tie.ts';
import { type LiveServer, liveServers } from './server.ts';

const start = liveServers();
const flags = ['--parallelrequests', '16', '--batchall', '--multiuser', '16', '--contextsize', '4096', '--usecpu'];
const requests = Array.from({ length: 16 }, (_, index) =>
  withTokens({ prompt: `Once upon a time there were ${index + 2} bears who`, temperature: 0 }),
);

const residentMegabytes = (pid: number | undefined): number =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

const answersOf = ({ base }: LiveServer): Promise<NativeResult[]> =>
  Promise.all(requests.map((request) => nativeClient(base).generate(request)));

test.runIf(process.platform === 'linux')(
  'sixteen sequences: unwritten cache cells take no memory, and the texts do not change, up to near ties',
  async () => {
    const sparing = await start(flags);
    const expected = await answersOf(sparing);
    const spared = residentMegabytes(sparing.worker());
    await sparing.stop();
    const locking = await start([...flags, '--usemlock']);
    const actual = await answersOf(locking);
    const whole = residentMegabytes(locking.worker());
    expect(spared).toBeLessThan(whole / 3);
    const shares: number[] = [];
    for (const [index, request] of requests.entries()) {
      const [ours, theirs] = [actual[index], expected[index]] as [NativeResult, NativeResult];
      shares.push(await sharedUntilTie(nativeClient(locking.base), request, ours, theirs));
    }
    expectMostlyShared(shares);
  },
);
