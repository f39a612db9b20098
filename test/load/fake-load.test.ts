import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { streamTargets } from '../../bench/stream-targets.ts';
import { holdingsOf } from '../../bench/task-kinds.ts';
import { embeddedModel, liveServers, program, programEnvironment } from '../live/server.ts';
import { hasAllWords, idleConnections, type OpenStream, openConnections, openStream } from './connections.ts';
import { bodyOf } from './plan.ts';
import { growthReport, startSampling } from './samples.ts';
import { fakeEngineCommand } from './servers.ts';
import { fullRun, report } from './sizes.ts';

const start = liveServers();
const folder = mkdtempSync(join(tmpdir(), 'parley-test-load-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const size = fullRun
  ? { idle: 1000, streams: 200, words: 400, slow: 64, stall: 10, beside: 16 }
  : { idle: 200, streams: 50, words: 60, slow: 4, stall: 4, beside: 4 };

/** More than the buffers between server and client hold. */
const slowWords = 60_000;

/** The most streams that one model generates together. */
const parallel = 32;
const target = (index: number) => streamTargets[index % streamTargets.length] as (typeof streamTargets)[number];
const completions = streamTargets.find(({ path }) => path === '/v1/completions') as (typeof streamTargets)[number];
const started = (flags: readonly string[]) => start(flags, { command: fakeEngineCommand });

describe.runIf(process.platform === 'linux')('load on the real server with the fake engine', () => {
  test(`${size.idle} idle connections stay open while ${size.streams} streams of all dialects run at once, whole and in order`, async () => {
    // Several models: one model generates at most 32 texts at once.
    const models = Array.from({ length: Math.ceil(size.streams / parallel) + 1 }, (_, index) => `fake-${index}`);
    const config = { model_param: embeddedModel, parallelrequests: parallel, batchall: true };
    for (const name of models) writeFileSync(join(folder, `${name}.kcpps`), JSON.stringify(config));
    const server = await started([
      ...['--admin', '--admindir', folder, '--routermode', '--maxmodels', String(models.length + 1)],
      ...['--parallelrequests', String(parallel), '--batchall', '--multiuser', '300', '--quiet'],
    ]);
    const before = holdingsOf(server.pid);
    const sampling = startSampling(server.pid);
    const idle = await idleConnections(server.port, size.idle);
    const gate = join(folder, 'streams-gate');
    const streams = Array.from({ length: size.streams }, (_, index) => {
      const model = models[index % models.length] as string;
      const body = bodyOf(target(index), size.words, `[gate ${gate}]`, `stream-${index}`);
      return openStream(server.port, target(index).path, { ...body, model });
    });
    // Each waits for the gate after its fifth word: all of them run at once.
    await vi.waitFor(() => expect(streams.filter((stream) => !/\bw4\b/.test(stream.text())).length).toBe(0), {
      timeout: 100_000,
      interval: 50,
    });
    const most = holdingsOf(server.pid);
    writeFileSync(gate, '');
    const bodies = await Promise.all(streams.map(({ body }) => body));
    const broken = bodies.flatMap((body, index) => (hasAllWords(body, size.words) ? [] : [target(index).name]));
    expect(broken).toEqual([]);
    expect(idle.filter(({ closed }) => closed).length).toBe(0);
    for (const { socket } of idle) socket.destroy();
    // Sockets of clients that are gone are not kept: the engines' pipes and a few files are left.
    const remaining = await vi.waitUntil(
      () => {
        const now = holdingsOf(server.pid);
        return now.descriptors < most.descriptors - size.idle ? now : undefined;
      },
      { timeout: 30_000 },
    );
    const grown = most.serverMegabytes - before.serverMegabytes;
    report(`${size.idle} idle connections and ${size.streams} streams`, [
      `at the most: ${most.serverMegabytes.toFixed(0)} MB, ${most.descriptors} descriptors, ${most.children + 1} processes`,
      `afterwards: ${remaining.serverMegabytes.toFixed(0)} MB, ${remaining.descriptors} descriptors, ${remaining.children + 1} processes`,
      growthReport(sampling.stop()).table,
    ]);
    // Code and heap of the first work, and a tenth of a megabyte for each connection.
    expect(grown).toBeLessThan(80 + 0.1 * (size.idle + size.streams));
    expect(await server.stop()).toBe(0);
  });

  test(`${size.slow} slow readers: those that read get all, those that stall are disconnected, and others are not held up`, async () => {
    const server = await started([
      ...[
        '--parallelrequests',
        String(parallel),
        '--batchall',
        '--multiuser',
        '300',
        '--stalltimeout',
        String(size.stall),
        '--quiet',
      ],
    ]);
    const before = holdingsOf(server.pid);
    const sampling = startSampling(server.pid);
    const ask = (tokens: number, index: number, prompt: string): OpenStream =>
      openStream(server.port, completions.path, bodyOf(completions, tokens, prompt, `slow-${index}`));
    const slow = Array.from({ length: size.slow }, (_, index) => ask(slowWords, index, '[fast]'));
    for (const stream of slow) stream.pause();
    const stalled = slow.filter((_, index) => index % 2 === 0);
    const reading = slow.filter((_, index) => index % 2 === 1);
    const sips = setInterval(() => {
      for (const stream of reading) {
        stream.resume();
        setImmediate(() => stream.pause());
      }
    }, 20);
    const streams = Array.from({ length: size.beside }, (_, index) => {
      const { path } = target(index);
      return openStream(server.port, path, bodyOf(target(index), 50, 'Hello', `beside-${index}`));
    });
    const ends = await Promise.all(streams.map(({ body }) => body));
    expect(ends.filter((body) => !hasAllWords(body, 50)).length).toBe(0);
    const whole = await Promise.all(reading.map(({ body }) => body));
    clearInterval(sips);
    expect(whole.filter((body) => !hasAllWords(body, slowWords)).length).toBe(0);
    // A client that does not read does not see the end of its connection: the server's side of it shows.
    await vi.waitUntil(() => openConnections(server.port) === 0, { timeout: 90_000, interval: 100 });
    for (const stream of stalled) stream.resume();
    expect((await Promise.all(stalled.map(({ body }) => body))).filter((body) => body !== undefined).length).toBe(0);
    const samples = sampling.stop();
    const most = Math.max(...samples.map(({ serverMegabytes }) => serverMegabytes));
    report(`${size.slow} slow readers`, [
      `${stalled.length} stalled and were disconnected, ${reading.length} read slowly to the end`,
      `memory of the server: ${before.serverMegabytes.toFixed(0)} MB before, at the most ${most.toFixed(0)} MB`,
      growthReport(samples).table,
    ]);
    // What a client has not read waits as events: about a hundred bytes for each word.
    expect(most - before.serverMegabytes).toBeLessThan(150 + 10 * size.slow);
    expect(await server.stop()).toBe(0);
  });

  test('the queue accepts --multiuser requests and no more, and clients get turns by the weights of their keys', async () => {
    const keyfile = join(folder, 'keys.json');
    const newKey = async (name: string, weight: number): Promise<string> => {
      const args = ['keys', 'add', name, '--weight', String(weight), '--keyfile', keyfile];
      const run = promisify(execFile)(process.execPath, [program, ...args], { env: programEnvironment() });
      return (await run).stdout.split('\n', 1)[0] ?? '';
    };
    const weights = { first: 1, second: 1, heavy: 2, last: 1 };
    const keys: Record<string, string> = {};
    for (const [name, weight] of Object.entries(weights)) keys[name] = await newKey(name, weight);
    const capacity = 31;
    const server = await started(['--keyfile', keyfile, '--multiuser', String(capacity), '--quiet']);
    const gate = join(folder, 'queue-gate');
    const asClient = (name: string) => ({ authorization: `Bearer ${keys[name]}` });
    const ask = (name: string, prompt: string, genkey: string): OpenStream =>
      openStream(server.port, '/v1/completions', { prompt, max_tokens: 6, genkey }, asClient(name));
    const queueLength = async (): Promise<number> => {
      const reply = await fetch(`${server.base}/api/extra/perf`, { headers: asClient('first') });
      return ((await reply.json()) as { queue: number }).queue;
    };
    // It holds the engine until all others wait.
    const holder = ask('first', `[gate ${gate}]`, 'holder');
    const each = 10;
    const waiting: { readonly name: string; readonly stream: OpenStream }[] = [];
    for (const name of ['first', 'second', 'heavy']) {
      for (let index = 0; index < each; index += 1) {
        waiting.push({ name, stream: ask(name, '[turn]', `${name}-${index}`) });
        await vi.waitUntil(async () => (await queueLength()) === waiting.length, { timeout: 30_000 });
      }
    }
    // The queue is full: a client without a request here, and one with some.
    for (const name of ['last', 'first']) expect(await ask(name, '[turn]', 'refused').status).toBe(503);
    writeFileSync(gate, '');
    expect(await holder.status).toBe(200);
    const turns = await Promise.all(
      waiting.map(async ({ name, stream }) => ({
        name,
        turn: Number(/\bt(\d+)\b/.exec((await stream.body) ?? '')?.[1]),
      })),
    );
    const order = turns.sort((one, other) => one.turn - other.turn).map(({ name }) => name);
    expect(turns.map(({ turn }) => turn)).toEqual(turns.map((_, index) => index + 2));
    // While all three wait, four turns are a round: one, one and two.
    const allWait = order.slice(0, order.lastIndexOf('heavy') + 1);
    for (let place = 0; place + 4 <= allWait.length; place += 4) {
      expect([...allWait.slice(place, place + 4)].sort()).toEqual(['first', 'heavy', 'heavy', 'second']);
    }
    expect(allWait.length).toBe(2 * each);
    // Then the two others take turns.
    const rest = order.slice(allWait.length);
    for (let place = 0; place + 2 <= rest.length; place += 2) {
      expect([...rest.slice(place, place + 2)].sort()).toEqual(['first', 'second']);
    }
    report('queue and fairness', [
      `${capacity} places: 1 running, ${waiting.length} waiting, others refused`,
      `turns: ${order.map((name) => name[0]).join('')} (f and s of weight 1, h of weight 2)`,
    ]);
    expect(await server.stop()).toBe(0);
  });
});
