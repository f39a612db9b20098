import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { type Child, type ChildExit, LineRing, spawnChild } from './child.ts';
import type { Pulse } from './heartbeat.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-child-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Starts a child that runs this code, and gives what it says and how it ends. */
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

test('messages go both ways, and stopping ends it and waits for its end', async () => {
  const { child, exit, next, exits } = startChild(echo);
  child.send({ hello: 'Grüße' });
  expect(await next()).toEqual({ hello: 'Grüße' });
  await child.stop(20_000);
  expect(await exit).toMatchObject({ code: 0, signal: null });
  expect(exits()).toBe(1);
  child.send({ hello: 'nobody there' });
});

test('one that does not listen is ended the hard way after the grace time', async () => {
  const { child, exit, next } = startChild(`process.send('up'); setInterval(() => {}, 1000);`);
  expect(await next()).toBe('up');
  await child.stop(1);
  expect((await exit).signal).toBe('SIGKILL');
});

test('its last words are part of how it ended', async () => {
  const { exit } = startChild(
    `process.stderr.write('first\\nthe reason\\n'); process.exitCode = 7; process.disconnect();`,
  );
  expect(await exit).toEqual({ code: 7, signal: null, lastLines: ['first', 'the reason'] });
});

test('a signal that ends it is told', async () => {
  const { child, exit, next } = startChild(`process.send('up'); setInterval(() => {}, 1000);`);
  await next();
  process.kill(child.pid as number, 'SIGILL');
  expect(await exit).toMatchObject({ code: null, signal: 'SIGILL' });
});

test('one whose program is missing ends at once', async () => {
  const exit = await new Promise<ChildExit>((resolve) => {
    spawnChild(join(folder, 'nowhere.mjs'), { message: () => {}, exit: resolve });
  });
  expect(exit.code).not.toBe(0);
  expect(exit.lastLines.join('\n')).toContain('nowhere.mjs');
});

test('bytes go both ways on a pipe of their own, and belong to their message', async () => {
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

test('signs of life are told, and what comes of a pipe that the child never opens is nothing', async () => {
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
    { hung: false, patienceMs: 0 },
    { hung: false, patienceMs: 12_000 },
    { hung: true, patienceMs: 0 },
  ]);
  child.kill();
  expect((await exit).signal).toBe('SIGKILL');
  child.kill();
});

test('a child that dies in the middle of its bytes has said nothing', async () => {
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

test('lines come together from pieces, and only the last ones are kept', () => {
  const seen: string[] = [];
  const ring = new LineRing(2, (line) => seen.push(line));
  ring.push('one\ntw');
  ring.push('o\nthree\nfo');
  expect(seen).toEqual(['one', 'two', 'three']);
  expect(ring.last()).toEqual(['two', 'three', 'fo']);
});
