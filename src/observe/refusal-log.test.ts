import { describe, expect, test } from 'vitest';
import { AppError, type Refused } from '../core/errors.ts';
import { Repeats } from './repeats.ts';
import { RefusalLog } from './request-log.ts';

function world({
  quiet = false,
  isTold = () => false,
}: {
  quiet?: boolean;
  isTold?: (error: AppError) => boolean;
} = {}) {
  const lines: string[] = [];
  const repeats = new Repeats({ say: (line) => lines.push(line), later: () => undefined });
  const log = new RefusalLog({ repeats, quiet, now: () => new Date(2026, 0, 2, 3, 4, 5), isTold });
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

describe('each refusal says who was refused and what would help', () => {
  const from = '[03:04:05] Refused POST /api/v1/generate from 127.0.0.1:';
  test.each<[AppError, string]>([
    [new AppError('unauthorized', {}), '401 Authentication key is missing or invalid. (the key is that of --password)'],
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

test('the status is the one that the client saw', () => {
  const { refuse, lines } = world();
  refuse(new AppError('rate-limited', { retryAfterSeconds: 3 }), { status: 429 });
  expect(lines[0]).toContain(': 429 You are');
});

test.each([
  [false, 'The request body is not valid JSON: unexpected token in "my secret diary".'],
  [true, 'The request body is not valid JSON.'],
])('what the parser quotes of a body is hidden by quiet (%s)', (quiet, expected) => {
  const { refuse, lines } = world({ quiet });
  refuse(new AppError('invalid-json', { reason: 'unexpected token in "my secret diary"' }));
  expect(lines[0]?.endsWith(`400 ${expected}`)).toBe(true);
});

test('what a client puts into a path or an origin gives the terminal no orders', () => {
  const { refuse, lines } = world();
  refuse(new AppError('origin-refused', { origin: 'http://x\u001b[2J\r\nAll is well' }), { path: '/a\u001b]0;b' });
  expect(lines[0]).not.toMatch(/\p{Cc}/u);
  expect(lines[0]).toContain('/a\\x1b]0;b');
});

test('a path without end makes no line without end', () => {
  const { refuse, lines } = world();
  refuse(new AppError('unauthorized', {}), { path: `/${'x'.repeat(8000)}` });
  expect(lines[0]?.length).toBeLessThan(500);
});

test('what never became a request has neither method nor path', () => {
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

test('an error that its own request has told is not told again', () => {
  const told = new AppError('context-overflow', { promptTokens: 9, contextSize: 8 });
  const { refuse, lines } = world({ isTold: (error) => error === told });
  refuse(told);
  expect(lines).toEqual([]);
});

test('a flood of one kind leaves a few lines, and room for the others', () => {
  const { refuse, lines } = world();
  for (let time = 0; time < 1000; time += 1) refuse(new AppError('unauthorized', {}), { path: `/${time}` });
  refuse(new AppError('busy', { retryAfterSeconds: 1 }));
  expect(lines).toHaveLength(6);
});
