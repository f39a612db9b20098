import { EventEmitter } from 'node:events';
import { describe, expect, test } from 'vitest';
import { launcherVariable, Stops } from './stops.ts';

function world(options: { readonly launched?: boolean; readonly channel?: boolean; readonly nohup?: boolean } = {}) {
  const { launched = false, channel = launched, nohup = false } = options;
  const seen: string[] = [];
  const process = Object.assign(new EventEmitter(), {
    env: { ...(launched && { [launcherVariable]: '1' }), _: nohup ? '/usr/bin/nohup' : '/usr/bin/node' },
    channel: channel ? { unref: () => void seen.push('unref') } : undefined,
  });
  const stops = new Stops(process, (code) => seen.push(`exit ${code}`));
  const handle = () => stops.handle((why) => seen.push(`stop: ${why}`));
  return { process, handle, seen };
}

describe.each(['SIGINT', 'SIGTERM', 'SIGHUP'])('%s', (signal) => {
  test('asks once, and the second time ends the program at once', () => {
    const { process, handle, seen } = world();
    handle();
    process.emit(signal);
    expect(seen).toEqual([`stop: ${signal}`]);
    process.emit(signal);
    expect(seen).toEqual([`stop: ${signal}`, 'exit 1']);
  });

  test('is left to the system as long as there is nothing to be ended well', () => {
    expect(world().process.listenerCount(signal)).toBe(0);
  });
});

test('two different signals are two signals', () => {
  const { process, handle, seen } = world();
  handle();
  process.emit('SIGHUP');
  process.emit('SIGTERM');
  expect(seen).toEqual(['stop: SIGHUP', 'exit 1']);
});

test('a program that was started by nohup does not hear when its terminal goes, but can be ended', () => {
  const { process, handle, seen } = world({ nohup: true });
  handle();
  process.emit('SIGHUP');
  process.emit('SIGHUP');
  expect(seen).toEqual([]);
  process.emit('SIGTERM');
  expect(seen).toEqual(['stop: SIGTERM']);
});

describe('a launcher', () => {
  test('asks by a message, and what the terminal sends to all of its processes is no second signal', () => {
    const { process, handle, seen } = world({ launched: true });
    handle();
    process.emit('message', 'stop');
    process.emit('SIGINT');
    process.emit('message', 'stop');
    expect(seen).toEqual(['unref', 'stop: the launcher asked for it']);
    process.emit('SIGINT');
    expect(seen.at(-1)).toBe('exit 1');
  });

  test('that has no timeout left says so', () => {
    const { process, handle, seen } = world({ launched: true });
    handle();
    process.emit('message', 'stop');
    process.emit('message', 'stop-now');
    expect(seen.at(-1)).toBe('exit 1');
  });

  test('that is gone takes the server along, and one that goes because the server does asks nothing new', () => {
    const { process, handle, seen } = world({ launched: true });
    handle();
    process.emit('disconnect');
    process.emit('disconnect');
    expect(seen).toEqual(['unref', 'stop: the launcher is gone']);
  });

  test('may ask before anything is running: then there is nothing to wait for', () => {
    const { process, seen } = world({ launched: true });
    process.emit('disconnect');
    expect(seen).toEqual(['unref', 'exit 1']);
  });

  test('of another kind, with a channel of its own, means nothing', () => {
    const { process, handle, seen } = world({ channel: true });
    handle();
    process.emit('disconnect');
    process.emit('message', 'stop');
    expect(seen).toEqual([]);
  });

  test('is not looked for where there is no channel', () => {
    const { process, handle, seen } = world({ launched: true, channel: false });
    handle();
    process.emit('disconnect');
    expect(seen).toEqual([]);
  });
});
