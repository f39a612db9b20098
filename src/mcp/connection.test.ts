import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ToolCallError } from '../core/tool-servers.ts';
import { backoffMs, SessionLost, ToolServerConnection } from './connection.ts';
import { commandConfig, type FakeSession, fakeServers, tool } from './testing/sessions.ts';
import { handTime } from './testing/time.ts';

const patient = new AbortController().signal;
const echo = { name: 'echo', arguments: { message: 'hi' } };
const done = { content: [{ type: 'text', text: 'hi' }] };

function world({ callMs = 60_000, env = {} } = {}) {
  const time = handTime();
  const servers = fakeServers();
  const logged: string[] = [];
  const changes: string[][] = [];
  const connection: ToolServerConnection = new ToolServerConnection(commandConfig('mine', env), {
    open: servers.open,
    startTimer: time.startTimer,
    now: time.now,
    callMs,
    log: (line) => logged.push(line),
    changed: () => changes.push(connection.tools.map(({ name }) => name)),
  });
  const session = (index = -1): FakeSession => {
    const found = servers.of('mine').at(index);
    if (!found) throw new Error('there is no session yet');
    return found;
  };
  const begin = async (): Promise<void> => {
    connection.start();
    await connection.firstAttempt;
    await time.settle();
  };
  return { time, servers, logged, changes, connection, session, begin };
}

/** What became of a call by now. */
function outcome(promise: Promise<unknown>): { get(): unknown } {
  let value: unknown = 'open';
  promise.then(
    (result) => {
      value = result;
    },
    (error: unknown) => {
      value = error;
    },
  );
  return { get: () => value };
}

describe('ToolServerConnection: connected', () => {
  test('performs the handshake, lists the tools, and logs their number', async () => {
    const { begin, connection, logged, changes } = world();
    await begin();
    expect(connection.tools.map(({ name }) => name)).toEqual(['echo']);
    expect(changes).toEqual([['echo']]);
    expect(logged).toEqual(['Connecting to MCP Server mine...', 'MCP Server mine: 1 tool.']);
  });

  test('passes calls and results unchanged', async () => {
    const { begin, connection, session } = world();
    await begin();
    session().answer = async () => done;
    expect(await connection.call({ ...echo, meta: { trace: 1 } }, { signal: patient })).toBe(done);
    expect(session().calls[0]?.call).toEqual({ ...echo, meta: { trace: 1 } });
  });

  test('passes the error of the server on', async () => {
    const { begin, connection, session } = world();
    await begin();
    const refusal = new ToolCallError(-32602, 'no such thing', { hint: 1 });
    session().answer = () => Promise.reject(refusal);
    await expect(connection.call(echo, { signal: patient })).rejects.toBe(refusal);
  });

  test('hides the secrets of its config in errors and log lines of the server', async () => {
    const { begin, connection, session, logged, time } = world({ env: { TOKEN: 'secret-token' } });
    await begin();
    session().answer = () => Promise.reject(new ToolCallError(-32602, 'not secret-token', { sent: 'secret-token' }));
    await expect(connection.call(echo, { signal: patient })).rejects.toMatchObject({
      message: 'not …',
      data: undefined,
    });
    session().answer = () => Promise.reject(new Error('secret-token is odd'));
    await expect(connection.call(echo, { signal: patient })).rejects.toThrow('could not be called: … is odd');
    session().respond = () => Promise.reject(new Error('secret-token is odd'));
    await expect(connection.request('prompts/get', {}, patient)).rejects.toThrow('could not answer: … is odd');
    session().events.log('error', 'my environment is {"TOKEN":"secret-token"}');
    session().events.lost('it wrote: secret-token');
    await time.settle();
    expect(logged.slice(2)).toEqual([
      'MCP Server mine (error): my environment is {"TOKEN":"…"}',
      'MCP Server mine is lost: it wrote: …. It is connected again.',
    ]);
    expect(connection.failure).toBe('it wrote: …');
  });

  test('other errors do not end the session', async () => {
    const { begin, connection, session, servers } = world();
    await begin();
    session().answer = () => Promise.reject(new Error('odd'));
    const error = await connection.call(echo, { signal: patient }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: -32000, message: 'The tool echo of mine could not be called: odd' });
    expect(servers.of('mine')).toHaveLength(1);
  });

  test('lists the tools again after list_changed', async () => {
    const { begin, connection, session, time } = world();
    await begin();
    session().tools = [tool('echo'), tool('new')];
    session().events.toolsChanged();
    await time.settle();
    expect(connection.tools.map(({ name }) => name)).toEqual(['echo', 'new']);
  });

  test('list_changed is read at once, then after growing pauses, and the last list counts', async () => {
    const { begin, connection, session, time } = world();
    await begin();
    let reads = 0;
    Object.defineProperty(session(), 'tools', {
      get: () => {
        reads += 1;
        return [tool(`version-${reads}`)];
      },
    });
    for (let times = 0; times < 100; times += 1) session().events.toolsChanged();
    await time.settle();
    expect(reads).toBe(1);
    await time.pass(1000);
    expect(reads).toBe(2);
    expect(connection.tools.map(({ name }) => name)).toEqual(['version-2']);
    for (let second = 0; second < 120; second += 1) {
      session().events.toolsChanged();
      await time.pass(1000);
    }
    expect(reads).toBeLessThan(12);
    // Once it has been quiet for a pause, a change is read at once again.
    await time.pass(60_000);
    reads = 0;
    session().events.toolsChanged();
    await time.settle();
    expect(reads).toBe(1);
    await time.pass(1000);
    expect(reads).toBe(1);
  });

  test('a list_changed during the first tools/list is not lost', async () => {
    const { connection, session, servers, time } = world();
    servers.tools.set('mine', [tool('echo')]);
    connection.start();
    await Promise.resolve();
    while (servers.of('mine').length === 0) await Promise.resolve();
    // Until the session is there the tools are being read.
    await Promise.resolve();
    session().events.toolsChanged();
    session().tools = [tool('echo'), tool('new')];
    await time.pass(1000);
    expect(connection.tools.map(({ name }) => name)).toEqual(['echo', 'new']);
  });

  test('keeps the known tools if they cannot be listed again', async () => {
    const { begin, connection, session, time, logged } = world();
    await begin();
    Object.defineProperty(session(), 'tools', {
      get: () => {
        throw new Error('too busy');
      },
    });
    session().events.toolsChanged();
    await time.settle();
    expect(connection.tools.map(({ name }) => name)).toEqual(['echo']);
    expect(logged.at(-1)).toBe('The tools of the MCP Server mine could not be read again: too busy.');
  });

  test('logs messages of the server', async () => {
    const { begin, session, logged } = world();
    await begin();
    session().events.log('warning', 'the disk is full');
    expect(logged.at(-1)).toBe('MCP Server mine (warning): the disk is full');
  });
});

describe('ToolServerConnection: call', () => {
  test('fails after the time-out, and is cancelled on the server', async () => {
    const { begin, connection, session, time } = world({ callMs: 10_000 });
    await begin();
    const result = outcome(connection.call(echo, { signal: patient }));
    await time.pass(9999);
    expect(result.get()).toBe('open');
    await time.pass(1);
    expect(result.get()).toMatchObject({
      code: -32001,
      message: 'Request timed out: the tool echo of mine gave no result within 10 s (--mcptimeout).',
    });
    expect(session().calls[0]?.options.signal.aborted).toBe(true);
  });

  test('progress extends the time-out, up to a limit', async () => {
    const { begin, connection, session, time } = world({ callMs: 10_000 });
    await begin();
    const told: number[] = [];
    const progress = ({ progress: step }: { progress: number }) => told.push(step);
    const result = outcome(connection.call(echo, { signal: patient, progress }));
    await time.settle();
    for (let step = 1; step <= 12; step += 1) {
      session().calls[0]?.options.progress?.({ progress: step });
      await time.pass(8000);
    }
    expect(told).toHaveLength(12);
    expect(result.get()).toBe('open');
    session().calls[0]?.options.progress?.({ progress: 13 });
    await time.pass(8000);
    expect(result.get()).toMatchObject({ code: -32001, message: expect.stringContaining('within 100 s') });
  });

  test('an abort cancels it on the server', async () => {
    const { begin, connection, session, time } = world();
    await begin();
    const client = new AbortController();
    const result = outcome(connection.call(echo, { signal: client.signal }));
    await time.settle();
    client.abort();
    await time.settle();
    expect(result.get()).toMatchObject({ name: 'AbortError' });
    expect(session().calls[0]?.options.signal.aborted).toBe(true);
    expect(session().closed).toBe(false);
  });

  test('waits for the handshake', async () => {
    const { connection, servers, session, time } = world();
    let open: () => void = () => {};
    servers.onOpen = () =>
      new Promise((resolve) => {
        open = resolve;
      });
    connection.start();
    const result = outcome(connection.call(echo, { signal: patient }));
    await time.pass(1000);
    open();
    await time.settle();
    session().answer = async () => done;
    expect(session().calls).toHaveLength(1);
    expect(result.get()).toBe('open');
  });
});

describe('ToolServerConnection: lost session', () => {
  test('fails running calls at once, and reconnects', async () => {
    const { begin, connection, session, servers, time, logged } = world();
    await begin();
    await time.pass(60_000);
    const calls = [1, 2].map(() => outcome(connection.call(echo, { signal: patient })));
    await time.settle();
    session().events.lost('its program ended');
    await time.settle();
    for (const call of calls) {
      expect(call.get()).toMatchObject({
        code: -32000,
        message: 'The tool server mine was lost in the middle of this call (its program ended); it is connected again.',
      });
    }
    expect(session(0).closed).toBe(true);
    await time.pass(250);
    expect(servers.of('mine')).toHaveLength(2);
    session().answer = async () => done;
    expect(await connection.call(echo, { signal: patient })).toBe(done);
    expect(logged).toContain('MCP Server mine is lost: its program ended. It is connected again.');
  });

  test('keeps the tools, and a call waits for the reconnect', async () => {
    const { begin, connection, session, time } = world();
    await begin();
    session().events.lost('gone');
    expect(connection.tools).toHaveLength(1);
    const result = outcome(connection.call(echo, { signal: patient }));
    await time.pass(250);
    expect(session().calls).toHaveLength(1);
    expect(result.get()).toBe('open');
  });

  test('a call fails with the reason after five seconds', async () => {
    const { begin, connection, session, servers, time } = world();
    await begin();
    servers.onOpen = () => Promise.reject(new Error('connection refused'));
    session().events.lost('gone');
    const result = outcome(connection.call(echo, { signal: patient }));
    await time.pass(4999);
    expect(result.get()).toBe('open');
    await time.pass(1);
    expect(result.get()).toMatchObject({
      code: -32000,
      message: 'The tool server mine is not there: connection refused. Please try again later.',
    });
  });

  test('reconnects with exponential backoff, and logs the reason once', async () => {
    const { begin, connection, session, servers, time, logged } = world();
    await begin();
    const tries: number[] = [];
    servers.onOpen = () => {
      tries.push(time.now());
      return Promise.reject(new Error('refused'));
    };
    session().events.lost('gone');
    await time.pass(40_000);
    const pauses = tries.map((at, index) => at - (tries[index - 1] ?? 0));
    expect(pauses).toEqual([250, 500, 1000, 2000, 4000, 8000, 8000, 8000, 8000].slice(0, pauses.length));
    expect(pauses.length).toBeGreaterThan(6);
    expect(logged.filter((line) => line.includes('refused'))).toEqual([
      'MCP Init Error: mine: refused. It is tried again.',
    ]);
    servers.onOpen = async () => undefined;
    await time.pass(8000);
    session().answer = async () => done;
    expect(await connection.call(echo, { signal: patient })).toBe(done);
  });

  test('backoff grows for short sessions, and is reset after a steady one', async () => {
    const { begin, session, servers, time } = world();
    await begin();
    for (const pause of [250, 500, 1000]) {
      const count = servers.of('mine').length;
      session().events.lost('gone');
      await time.pass(pause - 1);
      expect(servers.of('mine')).toHaveLength(count);
      await time.pass(1);
      expect(servers.of('mine')).toHaveLength(count + 1);
    }
    await time.pass(5000);
    const count = servers.of('mine').length;
    session().events.lost('gone');
    await time.pass(250);
    expect(servers.of('mine')).toHaveLength(count + 1);
  });

  test('a second loss event is ignored', async () => {
    const { begin, session, servers, time } = world();
    await begin();
    const first = session();
    first.events.lost('gone');
    await time.pass(250);
    first.events.lost('gone again');
    first.events.toolsChanged();
    first.events.transportFailed();
    await time.settle();
    expect(servers.of('mine')).toHaveLength(2);
    expect(session().closed).toBe(false);
  });
});

describe('ToolServerConnection: health check', () => {
  test('runs often during calls, otherwise rarely', async () => {
    const { begin, connection, session, time } = world();
    await begin();
    await time.pass(30_000);
    expect(session().checks).toBe(3);
    void connection.call(echo, { signal: patient }).catch(() => undefined);
    await time.pass(3000);
    expect(session().checks).toBe(5);
  });

  test('fails the call within five seconds if the server is gone', async () => {
    const { begin, connection, session, time } = world();
    await begin();
    const result = outcome(connection.call(echo, { signal: patient }));
    session().check = () => Promise.reject(new SessionLost('connection refused'));
    await time.pass(5000);
    expect(result.get()).toMatchObject({ code: -32000, message: expect.stringContaining('(connection refused)') });
  });

  test('a slow answer does not fail the call', async () => {
    const { begin, connection, session, time } = world();
    await begin();
    const result = outcome(connection.call(echo, { signal: patient }));
    session().check = () => Promise.reject(new Error('timed out'));
    await time.pass(20_000);
    expect(result.get()).toBe('open');
    expect(session().closed).toBe(false);
  });

  test('runs at once after a transport error', async () => {
    const { begin, session, time } = world();
    await begin();
    session().events.transportFailed();
    await time.settle();
    expect(session().checks).toBe(1);
  });

  test('does not run twice at the same time', async () => {
    const { begin, session } = world();
    await begin();
    session().check = () => new Promise(() => {});
    session().events.transportFailed();
    session().events.transportFailed();
    expect(session().checks).toBe(1);
  });
});

describe('ToolServerConnection: unknown session', () => {
  test('retries the call once on a new session', async () => {
    const { begin, connection, session, time } = world();
    await begin();
    session().answer = () => Promise.reject(new SessionLost('it answered with HTTP status 404', true));
    const result = outcome(connection.call(echo, { signal: patient }));
    await time.pass(250);
    expect(session().calls).toHaveLength(1);
    session().calls[0]?.options.progress?.({ progress: 1 });
    expect(result.get()).toBe('open');
  });

  test('fails the call the second time', async () => {
    const { begin, connection, servers, session, time } = world();
    await begin();
    const forgetful = () => Promise.reject(new SessionLost('unknown session', true));
    session().answer = forgetful;
    const result = outcome(connection.call(echo, { signal: patient }));
    await time.settle();
    servers.onOpen = async () => undefined;
    await time.pass(250);
    session().events.lost('unknown session');
    await time.settle();
    expect(result.get()).toMatchObject({ code: -32000, message: expect.stringContaining('unknown session') });
  });

  test('does not retry a call that was processed', async () => {
    const { begin, connection, session, servers, time } = world();
    await begin();
    session().answer = () => Promise.reject(new SessionLost('it hung up before it answered'));
    const result = outcome(connection.call(echo, { signal: patient }));
    await time.pass(1000);
    expect(result.get()).toBeInstanceOf(ToolCallError);
    expect(servers.of('mine').flatMap(({ calls }) => calls)).toHaveLength(1);
  });
});

describe('ToolServerConnection: first attempt', () => {
  test('a failure is logged and retried', async () => {
    const { connection, servers, logged, time } = world();
    servers.onOpen = () => Promise.reject(new Error('no such program'));
    connection.start();
    await connection.firstAttempt;
    expect(logged.at(-1)).toBe('MCP Init Error: mine: no such program. It is tried again.');
    servers.onOpen = async () => undefined;
    await time.pass(250);
    expect(connection.tools).toHaveLength(1);
  });

  test('is given up after the time-out', async () => {
    const { connection, servers, logged, time } = world();
    let given: AbortSignal | undefined;
    servers.onOpen = (_, signal) => {
      given = signal;
      return new Promise(() => {});
    };
    connection.start();
    await time.pass(60_000);
    expect(given?.aborted).toBe(true);
    expect(logged.at(-1)).toBe('MCP Init Error: mine: it did not answer within 60 s. It is tried again.');
  });

  test('fails if the session is lost during the handshake', async () => {
    const { connection, servers, time, session } = world();
    connection.start();
    await time.settle();
    const before = servers.of('mine').length;
    session().events.lost('gone');
    await time.pass(250);
    expect(servers.of('mine')).toHaveLength(before + 1);
  });
});

describe('ToolServerConnection: close', () => {
  test('closes the session, fails running and waiting calls, and does not reconnect', async () => {
    const { begin, connection, session, servers, time } = world();
    await begin();
    const running = outcome(connection.call(echo, { signal: patient }));
    await time.settle();
    await connection.close();
    await connection.close();
    await time.pass(60_000);
    expect(session().closed).toBe(true);
    expect(running.get()).toMatchObject({ code: -32000 });
    expect(servers.of('mine')).toHaveLength(1);
    await expect(connection.call(echo, { signal: patient })).rejects.toBeInstanceOf(ToolCallError);
    expect(time.waiting()).toBe(0);
  });

  test('does not wait for a server that is down', async () => {
    const { begin, connection, session, servers, time } = world();
    await begin();
    servers.onOpen = () => Promise.reject(new Error('away'));
    session().events.lost('gone');
    const waiting = outcome(connection.call(echo, { signal: patient }));
    await connection.close();
    await time.settle();
    expect(waiting.get()).toBeInstanceOf(ToolCallError);
    await time.pass(60_000);
    expect(time.waiting()).toBe(0);
  });

  test('waits for an attempt in progress, and closes its session', async () => {
    const { connection, servers, session, time } = world();
    let open: () => void = () => {};
    servers.onOpen = () =>
      new Promise((resolve) => {
        open = resolve;
      });
    connection.start();
    const closed = outcome(connection.close());
    await time.settle();
    // Its program may be there already.
    expect(closed.get()).toBe('open');
    open();
    await time.settle();
    expect(servers.of('mine')).toHaveLength(1);
    expect(session().closed).toBe(true);
    expect(closed.get()).toBeUndefined();
  });
});

test('backoffMs: doubles from 250 ms', () => {
  expect([1, 2, 3, 4].map(backoffMs)).toEqual([250, 500, 1000, 2000]);
});

test('backoffMs: never decreases, and is bounded', () => {
  fc.assert(
    fc.property(fc.nat(2000), (failures) => {
      expect(backoffMs(failures + 1)).toBeGreaterThanOrEqual(backoffMs(failures));
      expect(backoffMs(failures)).toBeLessThanOrEqual(8000);
    }),
  );
});
