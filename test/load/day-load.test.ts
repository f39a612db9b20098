import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test, vi } from 'vitest';
import { childrenOf } from '../../bench/process-figures.ts';
import { holdingsOf } from '../../bench/task-kinds.ts';
import { isAlive } from '../live/alive.ts';
import { embeddedModel, liveServers } from '../live/server.ts';
import { openStream } from './connections.ts';
import { dayOfWork } from './day.ts';
import { aligned, growthReport, startSampling } from './samples.ts';
import { measuredCommand } from './servers.ts';
import { dayMinutes, fullRun, report, seed } from './sizes.ts';

const start = liveServers();
const folder = mkdtempSync(join(tmpdir(), 'parley-test-day-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Growth is judged over the second half: in the first, code is compiled, and histories and caches fill. */
const tasksOfEach = fullRun ? 400 : 5;
const smallServer = fileURLToPath(new URL('../../src/mcp/testing/small-server.mjs', import.meta.url));
/** Lines on the console that no sound server writes here. */
const trouble = /unexpected|exception|unhandled|stopped in the middle|did not answer|could not/i;

test.runIf(process.platform === 'linux')(
  `a day of work, ${tasksOfEach} tasks of each kind on real engines (seed ${seed}): nothing fails or piles up, and the server stops gracefully`,
  async () => {
    copyFileSync(embeddedModel, join(folder, 'other.gguf'));
    const mcpServers = { small: { command: process.execPath, args: [smallServer, 'get_weather'] } };
    writeFileSync(join(folder, 'mcp.json'), JSON.stringify({ mcpServers }));
    const server = await start(
      [
        ...['--usecpu', '--contextsize', '1024', '--parallelrequests', '4', '--batchall', '--multiuser', '64'],
        ...['--admin', '--admindir', folder, '--mcpfile', join(folder, 'mcp.json'), '--quiet'],
        ...['--shutdowntimeout', '120'],
      ],
      { command: measuredCommand },
    );
    const sampling = startSampling(server.pid);
    const { done, wrong, complete } = await dayOfWork({
      base: server.base,
      seed,
      tasksOfEach,
      clients: 6,
      minutes: dayMinutes,
      swapOptions: ['other.gguf', 'initial_model'],
      log: (line) => report(line, []),
    });
    // What was cut off at the end may still be computed.
    await vi.waitUntil(
      async () => {
        const reply = await fetch(`${server.base}/api/extra/perf`);
        const { queue, idle } = (await reply.json()) as { queue: number; idle: number };
        return queue === 0 && idle === 1;
      },
      { timeout: 100_000, interval: 200 },
    );
    const samples = sampling.stop();
    const { table, breaches } = growthReport(samples);
    const kinds = [...done].map(([kind, { read, ended }]) => [kind, String(read), String(ended)]);
    const minutes = samples.at(-1)?.minutes.toFixed(1);
    report(`a day of work: seed ${seed}, ${minutes} minutes, ${complete ? 'all tasks done' : 'stopped by --minutes'}`, [
      aligned([['kind', 'read', 'cut off or aborted'], ...kinds]),
      '',
      table,
      ...wrong.slice(0, 20).map((line) => `! ${line}`),
      ...breaches.map((line) => `! ${line}`),
    ]);
    expect(wrong).toEqual([]);
    expect(breaches).toEqual([]);
    expect(
      server
        .output()
        .split('\n')
        .filter((line) => trouble.test(line)),
    ).toEqual([]);
    // Those of an upload that was cut off are removed a little later.
    await vi.waitUntil(() => holdingsOf(server.pid).temporaryFiles === 0, { timeout: 30_000 });
    if (!fullRun) expect(complete).toBe(true);

    const children = childrenOf(server.pid);
    const body = { prompt: 'Once upon a time', max_tokens: 300, stream: true, ban_eos_token: true };
    const streams = [1, 2, 3].map(() => openStream(server.port, '/v1/completions', body));
    await Promise.all(streams.map((stream) => stream.received(1000)));
    process.kill(server.pid, 'SIGTERM');
    const bodies = await Promise.all(streams.map((stream) => stream.body));
    for (const whole of bodies) expect(whole).toMatch(/"finish_reason":"length".*data: \[DONE\]\n\n$/s);
    expect(await server.exited).toBe(0);
    await vi.waitUntil(() => children.every((pid) => !isAlive(pid)), { timeout: 20_000 });
    report('graceful shutdown', [`${bodies.length} running streams were whole, exit code 0, no process is left`]);
  },
  // The bound of a machine that does much else; `npm run test:load` is bounded by --minutes.
  fullRun ? undefined : 600_000,
);
