import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { systemTimer } from '../core/timers.ts';
import { ToolCallError } from '../core/tool-servers.ts';
import { ToolServerConnection } from './connection.ts';
import { sdkSessions } from './sdk-session.ts';

/** A real program that does what no good tool server does; see there. */
const program = fileURLToPath(new URL('./testing/hostile-server.mjs', import.meta.url));

async function connected(mode = 'plain', atEnd: (close: () => Promise<void>) => void = onTestFinished) {
  const said: string[] = [];
  const connection = new ToolServerConnection(
    { type: 'command', name: 'hostile', command: process.execPath, args: [program, mode], env: {}, folder: '/' },
    {
      open: sdkSessions({
        product: { name: 'Parley', version: '1.2.3' },
        environment: {},
        guard: { add: () => undefined, end: () => undefined },
      }),
      startTimer: systemTimer,
      now: () => performance.now(),
      callMs: 60_000,
      log: (line) => said.push(line),
      changed: () => undefined,
    },
  );
  atEnd(() => connection.close());
  connection.start();
  await connection.firstAttempt;
  const call = (name: string, signal = new AbortController().signal) => connection.call({ name }, { signal });
  return { names: connection.tools.map(({ name }) => name), said, call };
}

describe('hostile MCP server: tools/list', () => {
  test('uses the first 1000 of 100000 tools', async () => {
    const { names, said } = await connected('many');
    expect(names).toHaveLength(1000);
    expect(said).toContain('MCP Server hostile (warning): its list of tools is too long; only the first 1000 are used');
  });

  test('omits a tool with a schema of megabytes', async () => {
    const { names, said } = await connected('large');
    expect(names).toEqual(['small']);
    expect(said.join('\n')).toContain('1 of its tools are left out: "large" (larger than 256 KB)');
  });

  test('omits tools with huge schemas, names them, and lists the others', async () => {
    const { names, said } = await connected('schemas');
    expect(names).toEqual(['cyclic', 'wrong', 'prototype', 'properties', 'name']);
    expect(said).toContain(
      'MCP Server hostile (warning): 2 of its tools are left out: "too_many" (larger than 256 KB), "long_name" (larger than 256 KB)',
    );
  });

  test('omits names with control characters, blank names and very long names', async () => {
    expect((await connected('names')).names).toEqual(['__proto__', 'constructor', 'same', 'same', 'ümlaut']);
  });

  test('omits invalid tools', async () => {
    expect((await connected('types')).names).toEqual(['good']);
  });

  test('gives up endless pages', async () => {
    const { said } = await connected('pages');
    expect(said.at(-1)).toBe('MCP Init Error: hostile: its list of tools has more than 64 pages. It is tried again.');
  });
});

describe('hostile MCP server: tools/call', () => {
  /** For calls that end neither the program nor the connection. */
  let shared: Awaited<ReturnType<typeof connected>>;
  let closeShared = async () => {};
  beforeAll(async () => {
    shared = await connected('plain', (close) => {
      closeShared = close;
    });
  });
  afterAll(() => closeShared());

  test.each(['huge', 'endless'])('a result that is too long fails at once: %s', async (name) => {
    const { call } = await connected();
    await expect(call(name)).rejects.toThrow(
      'The tool server hostile was lost in the middle of this call (it sent a message of more than 10 MB)',
    );
  });

  test.each([
    ['text', 'its result is no object'],
    ['nil', 'its result is no object'],
    ['deep', 'it is nested too deeply'],
  ])('an unusable result is an error at once, and the next call works: %s', async (name, reason) => {
    const { call } = shared;
    const refused = call(name);
    await expect(refused).rejects.toBeInstanceOf(ToolCallError);
    await expect(refused).rejects.toThrow(reason);
    expect(await call('good')).toEqual({ content: [{ type: 'text', text: 'fine' }] });
  });

  test('an error without code and message is an error', async () => {
    await expect(shared.call('odd')).rejects.toMatchObject({
      code: -32603,
      message: 'The tool server gave no reason.',
    });
  });

  test.each(['number', 'items', 'nothing', 'large'])('passes other results on: %s', async (name) => {
    expect(await shared.call(name)).toBeTypeOf('object');
  });

  test('skips invalid lines and duplicate answers', async () => {
    const { call } = shared;
    expect(await call('noise')).toEqual({ content: [{ type: 'text', text: 'fine' }] });
    expect(await call('twice')).toEqual({ content: [{ type: 'text', text: '1' }] });
    expect(await call('good')).toEqual({ content: [{ type: 'text', text: 'fine' }] });
  });

  test('endless progress does not keep an aborted call open', async () => {
    const { call } = await connected();
    const client = new AbortController();
    const running = call('progress', client.signal);
    setImmediate(() => client.abort(new Error('gone')));
    await expect(running).rejects.toThrow('gone');
    expect(await call('good')).toBeDefined();
  });
});
