import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import type { RequestScope } from '../http/request-scope.ts';
import { guardFaults } from './guard-faults.ts';

function world(scope?: RequestScope) {
  const process = new EventEmitter();
  const lines: string[] = [];
  const log = (line: string) => void lines.push(line);
  guardFaults({ process, scope: () => scope, facts: 'Parley 1.2.3', log, startTimer: () => undefined });
  return { process, lines };
}

test.each(['uncaughtException', 'unhandledRejection'])(
  'guardFaults: logs the stack of an %s, with the version',
  (event) => {
    const { process, lines } = world();
    process.emit(event, new TypeError('x is not a function'));
    expect(lines.join('\n')).toMatch(
      /The server goes on.*\(Parley 1\.2\.3\)[\s\S]*TypeError: x is not a function\n\s+at /,
    );
  },
);

test('guardFaults: fails the request of the exception, and leaves the report to it', () => {
  const failed: unknown[] = [];
  const fail = (error: unknown) => failed.push(error) > 0;
  const { process, lines } = world({ fail });
  const error = new Error('late');
  process.emit('uncaughtException', error);
  expect([failed, lines]).toEqual([[error], []]);
});

test('guardFaults: logs an exception of a finished request', () => {
  const { process, lines } = world({ fail: () => false });
  process.emit('uncaughtException', new Error('much later'));
  expect(lines.join()).toContain('much later');
});

test('guardFaults: logs a socket error as a failed connection', () => {
  const { process, lines } = world();
  process.emit('uncaughtException', Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }));
  expect(lines.join()).toMatch(/^A connection failed: /);
});

test('guardFaults: limits the lines of a repeated fault', () => {
  const { process, lines } = world();
  for (let count = 0; count < 1000; count += 1) process.emit('uncaughtException', new Error('again'));
  expect(lines.length).toBeLessThan(10);
});

test('guardFaults: logs a thrown value that is not an Error', () => {
  const { process, lines } = world();
  process.emit('unhandledRejection', undefined);
  expect(lines.join()).toContain('undefined');
});
