import { describe, expect, test } from 'vitest';
import type { Call, ClientKey, Reply } from '../http/call.ts';
import { endpoint } from '../http/testing/world.ts';
import { callOf } from '../protocols/testing/doubles.ts';
import { ActiveCalls } from './active-calls.ts';

const keyOf = (name: string): ClientKey => ({ name, scopes: ['chat'], weight: 1 });
const never = () => new Promise<never>(() => undefined);

function world(isValid: (key: ClientKey) => boolean = () => true) {
  const calls = new ActiveCalls(isValid);
  const signals = new Map<string, AbortSignal>();
  /** Answered when it is aborted. */
  const handle = (call: Call): Promise<Reply> => {
    signals.set(call.key?.name ?? '', call.signal);
    return new Promise((resolve) =>
      call.signal.addEventListener('abort', () => resolve({ status: 200, body: 'ended' }), { once: true }),
    );
  };
  const followed = calls.followed(endpoint(handle, { access: 'guarded' }));
  const send = (name: string) => followed.handle(callOf('/', '', { key: keyOf(name) }));
  return { calls, signals, send };
}

describe('ActiveCalls', () => {
  test('ends the requests of one key, and waits for their answers', async () => {
    const { calls, signals, send } = world();
    const answers = [send('anna'), send('anna'), send('ben')];
    let over = 0;
    for (const answer of answers.slice(0, 2)) void Promise.resolve(answer).then(() => (over += 1));
    await calls.end('anna', never);
    expect(over).toBe(2);
    expect(signals.get('ben')?.aborted).toBe(false);
    await calls.end('anna', never);
  });

  test('waits for the end of a stream, but not for ever', async () => {
    const calls = new ActiveCalls(() => true);
    let wasClosed = false;
    async function* stream() {
      try {
        yield 'a';
        yield 'b';
      } finally {
        wasClosed = true;
      }
    }
    const followed = calls.followed(endpoint(() => ({ status: 200, stream: stream() }), { access: 'guarded' }));
    const reply = await followed.handle(callOf('/', '', { key: keyOf('anna') }));
    await calls.end('anna', async () => undefined);
    if ('stream' in reply) for await (const _ of reply.stream) break;
    expect(wasClosed).toBe(true);
    await calls.end('anna', never);
  });

  test('a request whose key was revoked while it was sent is refused', async () => {
    const { send } = world(({ name }) => name !== 'anna');
    await expect(send('anna')).rejects.toEqual(expect.objectContaining({ code: 'unauthorized' }));
  });
});
