import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { type ConsoleEvent, type ServerChild, ServerProcess } from './server-process.ts';

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
  const serverProcess = new ServerProcess(
    (words) => {
      const child = new Child();
      children.push({ child, words });
      return child as unknown as ServerChild;
    },
    (line) => echoed.push(line),
  );
  const events: ConsoleEvent[] = [];
  serverProcess.watch((event) => events.push(event));
  return { serverProcess, children, echoed, events, child: () => children.at(-1)?.child ?? new Child() };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

test('ServerProcess: starts one process and reports its output by lines', async () => {
  const { serverProcess, children, child, echoed, events } = world();
  expect(serverProcess.state).toEqual({ type: 'idle' });
  expect(serverProcess.start(['--config', 'x'])).toBe(true);
  expect(serverProcess.start([])).toBe(false);
  expect(children.map(({ words }) => words)).toEqual([['--config', 'x']]);
  child().stdout.write('one\ntw');
  child().stdout.write('o\r\n');
  child().stderr.write('10 %\r50 %\r100 %\n');
  await settle();
  expect([...serverProcess.lines].sort()).toEqual(['100 %', 'one', 'two']);
  expect(echoed).toHaveLength(3);
  expect(events[0]).toEqual({ type: 'state', state: { type: 'starting' } });
});

test('ServerProcess: running after the ready line', async () => {
  const { serverProcess, child } = world();
  serverProcess.start([]);
  child().stdout.write('Please connect to custom endpoint at http://localhost:5001\n');
  await settle();
  expect(serverProcess.state).toEqual({ type: 'running', address: 'http://localhost:5001' });
});

test('stop: sends a message, kills on the second call', async () => {
  const { serverProcess, child } = world();
  serverProcess.stop();
  serverProcess.start([]);
  serverProcess.stop();
  expect(child().sent).toEqual(['stop']);
  expect(serverProcess.state).toEqual({ type: 'stopping' });
  // A late ready line does not change the state back to running.
  child().stdout.write('Please connect to custom endpoint at http://localhost:5001\n');
  await settle();
  expect(serverProcess.state).toEqual({ type: 'stopping' });
  serverProcess.stop();
  expect(child().signals).toEqual(['SIGKILL']);
});

test('stop: kills a disconnected process', () => {
  const { serverProcess, child } = world();
  serverProcess.start([]);
  child().connected = false;
  serverProcess.stop();
  expect(child().signals).toEqual(['SIGKILL']);
});

test('ServerProcess: reports the exit code; a new start clears the lines', async () => {
  const { serverProcess, child } = world();
  let ended = 0;
  serverProcess.start([], () => {
    ended += 1;
  });
  child().stdout.end('last words');
  await settle();
  child().emit('close', 3);
  expect(serverProcess.state).toEqual({ type: 'ended', code: 3 });
  expect(serverProcess.lines).toEqual(['last words']);
  expect(serverProcess.busy).toBe(false);
  expect(ended).toBe(1);
  expect(serverProcess.start([])).toBe(true);
  expect(serverProcess.lines).toEqual([]);
});

test('ServerProcess: reports a failed start once', () => {
  const { serverProcess, child } = world();
  let ended = 0;
  serverProcess.start([], () => {
    ended += 1;
  });
  child().emit('error', new Error('no such file'));
  child().emit('close', null);
  expect(ended).toBe(1);
  expect(serverProcess.lines).toEqual(['The server could not be started: no such file']);
  expect(serverProcess.state).toEqual({ type: 'ended', code: null });
});

test('ServerProcess: keeps the last lines', async () => {
  const { serverProcess, child } = world();
  serverProcess.start([]);
  child().stdout.write(Array.from({ length: 2500 }, (_, index) => `${index}\n`).join(''));
  await settle();
  expect(serverProcess.lines).toHaveLength(2000);
  expect(serverProcess.lines.at(-1)).toBe('2499');
});

test('watch: no events after unwatching', () => {
  const { serverProcess } = world();
  const heard: ConsoleEvent[] = [];
  const unwatch = serverProcess.watch((event) => heard.push(event));
  unwatch();
  serverProcess.start([]);
  expect(heard).toEqual([]);
});
