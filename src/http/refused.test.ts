import { describe, expect, test } from 'vitest';
import { AppError, type Refused } from '../core/errors.ts';
import { type ClientKey, json } from './call.ts';
import type { HttpServerOptions } from './server.ts';
import { ask, echo, endpoint, latch, serve, wire } from './testing/world.ts';

const post = { method: 'POST', path: '/work', body: '{}' } as const;

async function world(endpoints = [echo], options: Partial<HttpServerOptions> = {}) {
  const refused: Refused[] = [];
  const served = await serve(endpoints, { onRefused: (one) => refused.push(one), ...options });
  const codes = () => refused.map(({ error, status }) => `${status} ${error.code}`);
  return { served, refused, codes };
}

describe('onRefused: is called for a rejected request', () => {
  test('with a wrong key, a foreign origin or a foreign host', async () => {
    const { served, refused, codes } = await world();
    await ask(served, { ...post, headers: { origin: 'https://elsewhere.example' } });
    await ask(served, { ...post, headers: { host: 'rebound.example' } });
    const behind = await world([echo], { guard: { password: 'secret' } });
    await ask(behind.served, { ...post, headers: { authorization: 'Bearer guess' } });
    expect([...codes(), ...behind.codes()]).toEqual(['403 origin-refused', '421 host-refused', '401 unauthorized']);
    expect(refused[0]).toMatchObject({ method: 'POST', path: '/work', remoteAddress: '127.0.0.1' });
    expect(refused.map(({ error }) => error.message).join()).toMatch(/--allowedorigins .*--allowedhosts /);
    expect(JSON.stringify(behind.refused)).not.toContain('guess');
  });

  test('with a body above the limit, with and without Content-Length', async () => {
    const { served, codes } = await world([echo], { maxRequestMegabytes: 0.001 });
    await ask(served, { ...post, body: 'x'.repeat(2000) });
    await ask(served, { ...post, body: 'x'.repeat(2000), headers: { 'transfer-encoding': 'chunked' } });
    expect(codes()).toEqual(['413 payload-too-large', '413 payload-too-large']);
  });

  test('above the rate limit', async () => {
    const { served, codes } = await world([echo], { rateLimitSeconds: 60 });
    await ask(served, post);
    await ask(served, post);
    expect(codes()).toEqual(['503 rate-limited']);
  });

  test('of a key over its tokens of today, but not for what needs no tokens', async () => {
    const key: ClientKey = { name: 'phone', scopes: ['chat', 'images'], weight: 1 };
    const asked: string[] = [];
    const guard = {
      keys: { find: () => key, use: () => 0 },
      overLimit: ({ name }: ClientKey) => {
        asked.push(name);
        return new AppError('key-tokens-used', { tokens: 9, day: '2026-11-19', retryAfterSeconds: 60 });
      },
    };
    const answered = endpoint(() => json({}));
    const endpoints = [
      { ...answered, scope: 'chat' as const },
      { ...answered, scope: 'chat' as const, path: '/poll', rateLimited: false },
      { ...answered, scope: 'images' as const, path: '/draw' },
    ];
    const { served, codes } = await world(endpoints, { guard });
    const headers = { authorization: 'Bearer x' };
    const statuses = [];
    for (const path of ['/work', '/poll', '/draw'])
      statuses.push((await ask(served, { ...post, path, headers })).status);
    expect([statuses, codes(), asked]).toEqual([[429, 200, 200], ['429 key-tokens-used'], ['phone']]);
  });

  test('rejected by its endpoint, with the status of the response', async () => {
    const dialect = {
      ...echo.dialect,
      errorReply: (error: AppError) => ({
        ...echo.dialect.errorReply(error),
        status: error.code === 'busy' ? 529 : 400,
      }),
    };
    const errors = [
      new AppError('busy', { retryAfterSeconds: 1 }),
      new AppError('invalid-json', { reason: 'it is empty' }),
    ];
    const refusing = endpoint(
      () => {
        throw errors.shift();
      },
      { dialect },
    );
    const { served, codes } = await world([refusing]);
    await ask(served, post);
    await ask(served, post);
    expect(codes()).toEqual(['529 busy', '400 invalid-json']);
  });

  test('with an unknown path or method, but not for an unknown page', async () => {
    const { served, codes } = await world();
    await ask(served, { ...post, path: '/nowhere' });
    await ask(served, { method: 'GET', path: '/work' });
    await ask(served, { method: 'GET', path: '/favicon.ico' });
    expect(codes()).toEqual(['404 not-found', '405 method-not-allowed']);
  });

  test('that is not HTTP', async () => {
    const { served, refused } = await world();
    const broken = wire(served).send('\u0016\u0003\u0001 this is TLS\r\n\r\n');
    await broken.closed;
    expect(refused).toMatchObject([{ status: 400, method: '', path: '', remoteAddress: '127.0.0.1' }]);
  });
});

describe('onRefused: is not called', () => {
  test('for a successful request', async () => {
    const { served, refused } = await world();
    await ask(served, post);
    await ask(served, { method: 'OPTIONS', path: '/work' });
    await ask(served, { method: 'HEAD', path: '/' });
    expect(refused).toEqual([]);
  });

  test('for an internal error', async () => {
    const failing = endpoint(() => {
      throw new Error('a bug');
    });
    const { served, refused } = await world([failing]);
    await ask(served, post);
    expect([refused, served.errors]).toEqual([[], [expect.objectContaining({ message: 'a bug' })]]);
  });

  test('for a client that disconnects before the response', async () => {
    const [begun, over] = [latch(), latch()];
    const slow = endpoint(async ({ signal }) => {
      begun.open();
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      setImmediate(() => over.open());
      throw new AppError('busy', { retryAfterSeconds: 1 });
    });
    const { served, refused } = await world([slow]);
    const client = wire(served).send('POST /work HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}');
    await begun.promise;
    client.socket.destroy();
    await over.promise;
    expect(refused).toEqual([]);
  });
});
