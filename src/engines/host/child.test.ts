import type { ChildProcess, fork } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { type Child, type ChildExit, spawnChild, spawnChildWith } from './child.ts';
import type { Pulse } from './heartbeat.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-child-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Starts a child that runs this code; returns its messages and its exit. */
function startChild(code: string, pulse: (pulse: Pulse) => void = () => {}) {
  const entry = join(mkdtempSync(join(folder, 'program-')), 'main.mjs');
  writeFileSync(entry, code);
  const messages: unknown[] = [];
  const waiting: ((message: unknown) => void)[] = [];
  let exits = 0;
  let child: Child<object> | undefined;
  const exit = new Promise<ChildExit>((resolve) => {
    child = spawnChild<object, unknown>(entry, {
      message: (message, attachments) => {
        const next = waiting.shift();
        const whole = attachments.length > 0 ? { message, attachments } : message;
        if (next) next(whole);
        else messages.push(whole);
      },
      pulse,
      exit: (how) => {
        exits += 1;
        resolve(how);
      },
    });
  });
  const next = (): Promise<unknown> =>
    messages.length > 0 ? Promise.resolve(messages.shift()) : new Promise((resolve) => waiting.push(resolve));
  return { child: child as unknown as Child<object>, exit, next, exits: () => exits };
}

const echo = `process.on('message', (message) => process.send(message)); process.on('disconnect', () => process.exit(0));`;

test('spawnChild: exchanges messages, and stop waits for the exit', async () => {
  const { child, exit, next, exits } = startChild(echo);
  child.send({ hello: 'Grüße' });
  expect(await next()).toEqual({ hello: 'Grüße' });
  await child.stop(20_000);
  expect(await exit).toMatchObject({ code: 0, signal: null });
  expect(exits()).toBe(1);
  child.send({ hello: 'nobody there' });
});

test('spawnChild: kills a child that ignores stop after the grace time', async () => {
  const { child, exit, next } = startChild(`process.send('up'); setInterval(() => {}, 1000);`);
  expect(await next()).toBe('up');
  await child.stop(1);
  expect((await exit).signal).toBe('SIGKILL');
});

test('spawnChild: the exit has the last lines of output', async () => {
  const { exit } = startChild(
    `process.stderr.write('first\\nthe reason\\n'); process.exitCode = 7; process.disconnect();`,
  );
  expect(await exit).toEqual({ code: 7, signal: null, lastLines: ['first', 'the reason'] });
});

test('spawnChild: the exit has the signal', async () => {
  const { child, exit, next } = startChild(`process.send('up'); setInterval(() => {}, 1000);`);
  await next();
  process.kill(child.pid as number, 'SIGILL');
  expect(await exit).toMatchObject({ code: null, signal: 'SIGILL' });
});

test('spawnChild: a missing program exits at once', async () => {
  const exit = await new Promise<ChildExit>((resolve) => {
    spawnChild(join(folder, 'nowhere.mjs'), { message: () => {}, exit: resolve });
  });
  expect(exit.code).not.toBe(0);
  expect(exit.lastLines.join('\n')).toContain('nowhere.mjs');
});

test('spawnChild: attachments use a separate pipe and belong to their message', async () => {
  const { child, next } = startChild(`
    import { Socket } from 'node:net';
    const pipe = new Socket({ fd: 5, readable: true, writable: true });
    const chunks = [];
    let announced;
    const look = () => {
      const bytes = Buffer.concat(chunks);
      if (!announced || bytes.length < announced.attachedBytes[0]) return;
      process.send({ attachedBytes: [bytes.length], message: { back: announced.message } });
      pipe.write(bytes.reverse());
    };
    pipe.on('data', (chunk) => { chunks.push(chunk); look(); });
    process.on('message', (message) => { announced = message; look(); });
  `);
  child.send({ type: 'picture' }, [Uint8Array.of(1, 2, 3)]);
  expect(await next()).toEqual({ message: { back: { type: 'picture' } }, attachments: [Uint8Array.of(3, 2, 1)] });
  child.kill();
});

test('spawnChild: reports pulses, and ignores a pipe that the child never opens', async () => {
  const pulses: Pulse[] = [];
  const { child, exit, next } = startChild(
    `
    import { Socket } from 'node:net';
    const pipe = new Socket({ fd: 4, readable: true, writable: true });
    pipe.write('0\\n12000\\nhung\\n', () => process.send('written'));
  `,
    (pulse) => pulses.push(pulse),
  );
  expect(await next()).toBe('written');
  await expect.poll(() => pulses).toHaveLength(3);
  expect(pulses).toEqual([
    { hung: false, timeoutMs: 0 },
    { hung: false, timeoutMs: 12_000 },
    { hung: true, timeoutMs: 0 },
  ]);
  child.kill();
  expect((await exit).signal).toBe('SIGKILL');
  child.kill();
});

test('spawnChild: a child that dies during its attachments delivers no message', async () => {
  const { exit, next } = startChild(`
    import { Socket } from 'node:net';
    const pipe = new Socket({ fd: 5, readable: true, writable: true });
    process.send('first');
    process.send({ attachedBytes: [1000], message: 'never whole' });
    pipe.write(Buffer.alloc(999), () => process.kill(process.pid, 'SIGKILL'));
  `);
  expect(await next()).toBe('first');
  expect((await exit).signal).toBe('SIGKILL');
  const nothing = {};
  expect(await Promise.race([next(), Promise.resolve(nothing)])).toBe(nothing);
});

describe('spawnChild: a process that cannot be started', () => {
  const failure = (code: string) => Object.assign(new Error(`spawn node ${code}`), { code });
  const shortage = { reason: expect.stringContaining('(EMFILE)'), isPassing: true };
  const begin = (start: () => ChildProcess) => {
    const exits: ChildExit[] = [];
    const listeners = { message: () => undefined, exit: (exit: ChildExit) => void exits.push(exit) };
    const child = spawnChildWith<object, unknown>(start as typeof fork, 'none.js', listeners);
    child.send({ hello: 'nobody' }, [Uint8Array.of(1)]);
    child.kill();
    return { child, exits };
  };

  test('without file descriptors Node gives no pipes and an error event: it exits once, with the reason', async () => {
    // As in Node: `stdio` and `stderr` are undefined, and the error comes in the next tick.
    const made = Object.assign(new EventEmitter(), { pid: undefined, kill: () => false }) as unknown as ChildProcess;
    const { child, exits } = begin(() => made);
    made.emit('error', failure('EMFILE'));
    made.emit('error', failure('EMFILE'));
    await child.stop(1);
    expect(exits).toMatchObject([{ code: null, signal: null, unstarted: shortage }]);
  });

  test('a start that throws is an exit too, after the child is there', async () => {
    const { child, exits } = begin(() => {
      throw failure('EMFILE');
    });
    expect(exits).toEqual([]);
    await child.stop(1);
    expect(exits).toMatchObject([{ code: null, signal: null, unstarted: shortage }]);
  });
});
