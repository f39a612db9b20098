import { describe, expect, test } from 'vitest';
import { AppError, type Refused } from '../core/errors.ts';
import { RateLimitedLog } from './rate-limited-log.ts';
import { RefusalLog } from './request-log.ts';

function world({
  quiet = false,
  wasLogged = () => false,
}: {
  quiet?: boolean;
  wasLogged?: (error: AppError) => boolean;
} = {}) {
  const lines: string[] = [];
  const limited = new RateLimitedLog({ log: (line) => lines.push(line), startTimer: () => undefined });
  const log = new RefusalLog({ log: limited, quiet, now: () => new Date(2026, 0, 2, 3, 4, 5), wasLogged });
  const refuse = (error: AppError, more: Partial<Refused> = {}) =>
    log.refused({
      error,
      status: error.status,
      method: 'POST',
      path: '/api/v1/generate',
      remoteAddress: '127.0.0.1',
      ...more,
    });
  return { refuse, lines };
}

describe('RefusalLog: names request, client, status and flag', () => {
  const from = '[03:04:05] Refused POST /api/v1/generate from 127.0.0.1:';
  test.each<[AppError, string]>([
    [
      new AppError('unauthorized', {}),
      '401 Authentication key is missing or invalid. (the key is that of --password or one of --keyfile)',
    ],
    [
      new AppError('origin-refused', { origin: 'https://app.example' }),
      '403 Pages from https://app.example may not call this server. Start it with --allowedorigins https://app.example to let them.',
    ],
    [
      new AppError('host-refused', { host: 'box.example' }),
      '421 This server does not answer to the name box.example. Start it with --allowedhosts box.example to allow it.',
    ],
    [
      new AppError('payload-too-large', { limitMegabytes: 32 }),
      '413 Payload is too big. Max payload size is 32MB. (--maxrequestsize allows more)',
    ],
    [
      new AppError('rate-limited', { retryAfterSeconds: 3 }),
      '503 You are sending requests too quickly. Please try again in 3 seconds. (--ratelimit)',
    ],
    [
      new AppError('busy', { retryAfterSeconds: 3 }),
      '503 Server is busy; please try again later. (all places of --multiuser are taken)',
    ],
    [
      new AppError('invalid-field', { field: 'max_length', expected: 'a whole number' }),
      '400 max_length must be a whole number.',
    ],
  ])('%s', (error, expected) => {
    const { refuse, lines } = world();
    refuse(error);
    expect(lines).toEqual([`${from} ${expected}`]);
  });
});

test('RefusalLog: an unknown host name or origin is logged once', () => {
  const { refuse, lines } = world();
  for (const host of ['a.example', 'a.example', 'b.example']) refuse(new AppError('host-refused', { host }));
  for (const origin of ['null', 'null']) refuse(new AppError('origin-refused', { origin }));
  expect(lines.map((line) => /--\w+ \S+/.exec(line)?.[0])).toEqual([
    '--allowedhosts a.example',
    '--allowedhosts b.example',
    '--allowedorigins null',
  ]);
});

test('RefusalLog: logs the status of the response', () => {
  const { refuse, lines } = world();
  refuse(new AppError('rate-limited', { retryAfterSeconds: 3 }), { status: 429 });
  expect(lines[0]).toContain(': 429 You are');
});

test.each([
  [false, "The request body is not valid JSON: unexpected token 'm'."],
  [true, 'The request body is not valid JSON.'],
])('RefusalLog: hides what the parser quotes of a body, and with quiet also why (%s)', (quiet, expected) => {
  const { refuse, lines } = world({ quiet });
  refuse(new AppError('invalid-json', { reason: `unexpected token 'm', ..."a": my secret diary"...` }));
  expect(lines[0]?.endsWith(`400 ${expected}`)).toBe(true);
});

test('RefusalLog: escapes control characters in path and origin', () => {
  const { refuse, lines } = world();
  refuse(new AppError('origin-refused', { origin: 'http://x\u001b[2J\r\nAll is well' }), { path: '/a\u001b]0;b' });
  expect(lines[0]).not.toMatch(/\p{Cc}/u);
  expect(lines[0]).toContain('/a\\x1b]0;b');
});

test('RefusalLog: shortens long paths', () => {
  const { refuse, lines } = world();
  refuse(new AppError('unauthorized', {}), { path: `/${'x'.repeat(8000)}` });
  expect(lines[0]?.length).toBeLessThan(500);
});

test('RefusalLog: "a connection" without method and path', () => {
  const { refuse, lines } = world();
  refuse(new AppError('request-broken', { reason: 'it is not valid HTTP' }), {
    method: '',
    path: '',
    remoteAddress: '',
  });
  expect(lines[0]).toBe(
    '[03:04:05] Refused a connection from nowhere: 400 The request could not be read: it is not valid HTTP.',
  );
});

test('RefusalLog: skips errors of the request log', () => {
  const told = new AppError('context-overflow', { promptTokens: 9, contextSize: 8 });
  const { refuse, lines } = world({ wasLogged: (error) => error === told });
  refuse(told);
  expect(lines).toEqual([]);
});

test('RefusalLog: limits lines per error code', () => {
  const { refuse, lines } = world();
  for (let time = 0; time < 1000; time += 1) refuse(new AppError('unauthorized', {}), { path: `/${time}` });
  refuse(new AppError('busy', { retryAfterSeconds: 1 }));
  expect(lines).toHaveLength(6);
});
