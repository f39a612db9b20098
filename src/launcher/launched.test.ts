import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { type ConsoleEvent, Launched, type LaunchedChild } from './launched.ts';

class Child extends EventEmitter {
  readonly stdout = new PassThrough();
  readonly stderr = new PassThrough();
  readonly sent: unknown[] = [];
  readonly signals: unknown[] = [];
  connected = true;
  send(message: unknown): boolean {
    this.sent.push(message);
    return true;
  }
  kill(signal?: unknown): boolean {
    this.signals.push(signal);
    return true;
  }
}

function world() {
  const children: { readonly child: Child; readonly words: readonly string[] }[] = [];
  const echoed: string[] = [];
  const launched = new Launched(
    (words) => {
      const child = new Child();
      children.push({ child, words });
      return child as unknown as LaunchedChild;
    },
    (line) => echoed.push(line),
  );
  const events: ConsoleEvent[] = [];
  launched.watch((event) => events.push(event));
  return { launched, children, echoed, events, child: () => children.at(-1)?.child ?? new Child() };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

test('Launched: starts one process and reports its output by lines', async () => {
  const { launched, children, child, echoed, events } = world();
  expect(launched.state).toEqual({ type: 'idle' });
  expect(launched.start(['--config', 'x'])).toBe(true);
  expect(launched.start([])).toBe(false);
  expect(children.map(({ words }) => words)).toEqual([['--config', 'x']]);
  child().stdout.write('one\ntw');
  child().stdout.write('o\r\n');
  child().stderr.write('10 %\r50 %\r100 %\n');
  await settle();
  expect([...launched.lines].sort()).toEqual(['100 %', 'one', 'two']);
  expect(echoed).toHaveLength(3);
  expect(events[0]).toEqual({ type: 'state', state: { type: 'starting' } });
});

test('Launched: running after the ready line', async () => {
  const { launched, child } = world();
  launched.start([]);
  child().stdout.write('Please connect to custom endpoint at http://localhost:5001\n');
  await settle();
  expect(launched.state).toEqual({ type: 'running', address: 'http://localhost:5001' });
});

test('stop: sends a message, kills on the second call', async () => {
  const { launched, child } = world();
  launched.stop();
  launched.start([]);
  launched.stop();
  expect(child().sent).toEqual(['stop']);
  expect(launched.state).toEqual({ type: 'stopping' });
  // A late ready line does not change the state back to running.
  child().stdout.write('Please connect to custom endpoint at http://localhost:5001\n');
  await settle();
  expect(launched.state).toEqual({ type: 'stopping' });
  launched.stop();
  expect(child().signals).toEqual(['SIGKILL']);
});

test('stop: kills a disconnected process', () => {
  const { launched, child } = world();
  launched.start([]);
  child().connected = false;
  launched.stop();
  expect(child().signals).toEqual(['SIGKILL']);
});

test('Launched: reports the exit code; a new start clears the lines', async () => {
  const { launched, child } = world();
  let ended = 0;
  launched.start([], () => {
    ended += 1;
  });
  child().stdout.end('last words');
  await settle();
  child().emit('close', 3);
  expect(launched.state).toEqual({ type: 'ended', code: 3 });
  expect(launched.lines).toEqual(['last words']);
  expect(launched.busy).toBe(false);
  expect(ended).toBe(1);
  expect(launched.start([])).toBe(true);
  expect(launched.lines).toEqual([]);
});

test('Launched: reports a failed start once', () => {
  const { launched, child } = world();
  let ended = 0;
  launched.start([], () => {
    ended += 1;
  });
  child().emit('error', new Error('no such file'));
  child().emit('close', null);
  expect(ended).toBe(1);
  expect(launched.lines).toEqual(['The server could not be started: no such file']);
  expect(launched.state).toEqual({ type: 'ended', code: null });
});

test('Launched: keeps the last lines', async () => {
  const { launched, child } = world();
  launched.start([]);
  child().stdout.write(Array.from({ length: 2500 }, (_, index) => `${index}\n`).join(''));
  await settle();
  expect(launched.lines).toHaveLength(2000);
  expect(launched.lines.at(-1)).toBe('2499');
});

test('watch: no events after unwatching', () => {
  const { launched } = world();
  const heard: ConsoleEvent[] = [];
  const unwatch = launched.watch((event) => heard.push(event));
  unwatch();
  launched.start([]);
  expect(heard).toEqual([]);
});
