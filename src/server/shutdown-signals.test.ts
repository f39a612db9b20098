import { EventEmitter } from 'node:events';
import { describe, expect, test } from 'vitest';
import { launcherVariable, ShutdownSignals } from './shutdown-signals.ts';

interface Surroundings {
  readonly launched?: boolean;
  readonly channel?: boolean;
  readonly nohup?: boolean;
  readonly npm?: boolean;
  readonly now?: () => number;
}

function world(options: Surroundings = {}) {
  const { launched = false, channel = launched, nohup = false, npm = false, now } = options;
  const seen: string[] = [];
  const process = Object.assign(new EventEmitter(), {
    env: {
      ...(launched && { [launcherVariable]: '1' }),
      ...(npm && { npm_execpath: '/usr/bin/npm' }),
      _: nohup ? '/usr/bin/nohup' : '/usr/bin/node',
    },
    channel: channel ? { unref: () => void seen.push('unref') } : undefined,
  });
  const signals = new ShutdownSignals(process, (code) => seen.push(`exit ${code}`), now);
  const handle = () => signals.handle((why) => seen.push(`stop: ${why}`));
  return { process, handle, seen };
}

describe.each(['SIGINT', 'SIGTERM', 'SIGHUP'])('ShutdownSignals: %s', (signal) => {
  test('the first signal stops, the second exits at once', () => {
    const { process, handle, seen } = world();
    handle();
    process.emit(signal);
    expect(seen).toEqual([`stop: ${signal}`]);
    process.emit(signal);
    expect(seen).toEqual([`stop: ${signal}`, 'exit 1']);
  });

  test('has no listener before there is anything to stop', () => {
    expect(world().process.listenerCount(signal)).toBe(0);
  });
});

test('ShutdownSignals: two different signals count as two', () => {
  const { process, handle, seen } = world();
  handle();
  process.emit('SIGHUP');
  process.emit('SIGTERM');
  expect(seen).toEqual(['stop: SIGHUP', 'exit 1']);
});

test('ShutdownSignals: under nohup SIGHUP is ignored, and SIGTERM stops', () => {
  const { process, handle, seen } = world({ nohup: true });
  handle();
  process.emit('SIGHUP');
  process.emit('SIGHUP');
  expect(seen).toEqual([]);
  process.emit('SIGTERM');
  expect(seen).toEqual(['stop: SIGTERM']);
});

test('ShutdownSignals: under npm a signal that arrives twice within a second counts once', () => {
  let time = 0;
  const { process, handle, seen } = world({ npm: true, now: () => time });
  handle();
  process.emit('SIGINT');
  time = 999;
  process.emit('SIGINT');
  expect(seen).toEqual(['stop: SIGINT']);
  time = 1000;
  process.emit('SIGINT');
  expect(seen).toEqual(['stop: SIGINT', 'exit 1']);
});

describe('ShutdownSignals: launcher', () => {
  test('stops by a message, and a SIGINT of the terminal after it is not the second signal', () => {
    const { process, handle, seen } = world({ launched: true });
    handle();
    process.emit('message', 'stop');
    process.emit('SIGINT');
    process.emit('message', 'stop');
    expect(seen).toEqual(['unref', 'stop: the launcher asked for it']);
    process.emit('SIGINT');
    expect(seen.at(-1)).toBe('exit 1');
  });

  test('stop-now exits at once', () => {
    const { process, handle, seen } = world({ launched: true });
    handle();
    process.emit('message', 'stop');
    process.emit('message', 'stop-now');
    expect(seen.at(-1)).toBe('exit 1');
  });

  test('a disconnect stops once', () => {
    const { process, handle, seen } = world({ launched: true });
    handle();
    process.emit('disconnect');
    process.emit('disconnect');
    expect(seen).toEqual(['unref', 'stop: the launcher is gone']);
  });

  test('a disconnect before the start exits at once', () => {
    const { process, seen } = world({ launched: true });
    process.emit('disconnect');
    expect(seen).toEqual(['unref', 'exit 1']);
  });

  test('the channel of another parent is ignored', () => {
    const { process, handle, seen } = world({ channel: true });
    handle();
    process.emit('disconnect');
    process.emit('message', 'stop');
    expect(seen).toEqual([]);
  });

  test('adds no listener without a channel', () => {
    const { process, handle, seen } = world({ launched: true, channel: false });
    handle();
    process.emit('disconnect');
    expect(seen).toEqual([]);
  });
});
