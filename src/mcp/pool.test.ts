import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nameTools, toolServerPool } from './pool.ts';
import { commandConfig, fakeServers, tool } from './testing/sessions.ts';
import { handTime } from './testing/time.ts';

const patient = new AbortController().signal;

function world(...names: string[]) {
  const time = handTime();
  const servers = fakeServers();
  const pool = () =>
    toolServerPool(
      names.map((name) => commandConfig(name)),
      {
        open: servers.open,
        startTimer: time.startTimer,
        now: time.now,
        callMs: 60_000,
        log: () => undefined,
      },
    );
  return { time, servers, pool };
}

const names = (tools: readonly { readonly name: string }[]) => tools.map(({ name }) => name);

describe('toolServerPool', () => {
  test('lists tools in the order of the file, not of connection', async () => {
    const { servers, pool } = world('slow', 'quick');
    servers.tools.set('slow', [tool('echo'), tool('one')]).set('quick', [tool('echo'), tool('two')]);
    servers.onOpen = ({ name }) =>
      name === 'slow' ? new Promise((resolve) => setImmediate(resolve)) : Promise.resolve();
    expect(names(await pool().list())).toEqual(['echo', 'one', 'quick_echo', 'two']);
  });

  test('routes calls to the server of the tool, under its own name', async () => {
    const { servers, pool } = world('a', 'b');
    const both = pool();
    await both.list();
    for (const name of ['a', 'b']) {
      const [session] = servers.of(name);
      if (session) session.answer = async () => ({ from: name });
    }
    expect(await both.call({ name: 'echo' }, { signal: patient })).toEqual({ from: 'a' });
    expect(await both.call({ name: 'b_echo' }, { signal: patient })).toEqual({ from: 'b' });
    expect(servers.of('b')[0]?.calls[0]?.call.name).toBe('echo');
  });

  test('a single server is found by its name or address, with its own names of tools', async () => {
    const { servers, pool } = world('a', 'b');
    const both = pool();
    const one = both.at?.('mcpfile:b');
    expect(names((await one?.list()) ?? [])).toEqual(['echo']);
    const [session] = servers.of('b');
    if (session) session.answer = async () => ({ from: 'b' });
    expect(await one?.call({ name: 'echo' }, { signal: patient })).toEqual({ from: 'b' });
    await both.add({ type: 'address', name: 'c', url: 'https://c.example/mcp', headers: {}, sse: false });
    expect(both.at?.('https://c.example/mcp')).toBeDefined();
    expect([both.at?.('mcpfile:d'), both.at?.('https://c.example/'), both.at?.('')]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  test('list waits once for a server that hangs in initialize', async () => {
    const { servers, pool, time } = world('hangs', 'there');
    servers.onOpen = ({ name }) => (name === 'hangs' ? new Promise(() => {}) : Promise.resolve());
    const both = pool();
    const listed = both.list();
    await time.pass(10_000);
    expect(names(await listed)).toEqual(['echo']);
    // Later calls do not wait, nor does the next attempt to connect.
    expect(names(await both.list())).toEqual(['echo']);
    await time.pass(61_000);
    expect(names(await both.list())).toEqual(['echo']);
  });

  test('does not wait for a server that cannot be started', async () => {
    const { servers, pool } = world('broken', 'there');
    servers.onOpen = ({ name }) => (name === 'broken' ? Promise.reject(new Error('x')) : Promise.resolve());
    expect(names(await pool().list())).toEqual(['echo']);
  });

  test('updates its tools after list_changed', async () => {
    const { servers, pool, time } = world('a');
    const one = pool();
    await one.list();
    const [session] = servers.of('a');
    if (session) session.tools = [tool('other')];
    session?.events.toolsChanged();
    await time.settle();
    expect(names(await one.list())).toEqual(['other']);
    await expect(one.call({ name: 'echo' }, { signal: patient })).rejects.toMatchObject({ code: -32602 });
  });

  test('rejects an unknown tool', async () => {
    const { pool } = world('a');
    await expect(pool().call({ name: 'nothing' }, { signal: patient })).rejects.toMatchObject({
      code: -32602,
      message: 'Tool not found',
    });
  });

  test('an abort ends the wait for the handshakes', async () => {
    const { servers, pool } = world('a');
    servers.onOpen = () => new Promise(() => {});
    const client = new AbortController();
    const listed = pool().list(client.signal);
    client.abort(new Error('gone'));
    await expect(listed).rejects.toThrow('gone');
  });

  test('close ends all connections', async () => {
    const { servers, pool, time } = world('a', 'b');
    const both = pool();
    await both.list();
    await both.close();
    expect(['a', 'b'].map((name) => servers.of(name)[0]?.closed)).toEqual([true, true]);
    expect(time.waiting()).toBe(0);
  });
});

const offering = (name: string, ...names: string[]) => ({ name, tools: names.map((one) => tool(one)) });
const named = (...offerings: Parameters<typeof nameTools>[0]) =>
  [...nameTools(offerings)].map(([name, { server, ownName }]) => [name, server, ownName]);

describe('nameTools', () => {
  test('keeps unique names, in the order of the file', () => {
    expect(named(offering('b', 'two', 'one'), offering('a', 'three'))).toEqual([
      ['two', 'b', 'two'],
      ['one', 'b', 'one'],
      ['three', 'a', 'three'],
    ]);
  });

  test('prefixes a later duplicate with the name of its server', () => {
    expect(named(offering('a', 'echo'), offering('b', 'echo'), offering('c', 'echo'))).toEqual([
      ['echo', 'a', 'echo'],
      ['b_echo', 'b', 'echo'],
      ['c_echo', 'c', 'echo'],
    ]);
  });

  test('never uses the name of another tool', () => {
    expect(named(offering('a', 'echo'), offering('b', 'echo'), offering('c', 'b_echo'))).toEqual([
      ['echo', 'a', 'echo'],
      ['b_echo_2', 'b', 'echo'],
      ['b_echo', 'c', 'b_echo'],
    ]);
  });

  test('uses only characters that chat APIs allow', () => {
    const [, [second] = []] = named(offering('a', 'echo'), offering('my server: ünï', 'echo'));
    expect(second).toBe('my_server_n_echo');
  });

  test('limits the length, and names stay unique', () => {
    const long = 'x'.repeat(80);
    const names = named(offering('a', long), offering('b', long), offering('b!', long)).map(([name]) => name);
    expect(names.map((name) => name?.length)).toEqual([80, 64, 64]);
    expect(new Set(names).size).toBe(3);
  });

  test('lists a duplicate of one server once', () => {
    expect(named(offering('a', 'echo', 'echo'))).toEqual([['echo', 'a', 'echo']]);
  });

  test('changes only the name', () => {
    const shown = { title: 'Echo', annotations: { readOnlyHint: true } };
    const tools = nameTools([offering('a', 'echo'), { name: 'b', tools: [tool('echo', shown)] }]);
    expect(tools.get('b_echo')?.tool).toEqual({ ...tool('b_echo'), ...shown });
  });

  test('names are unique and deterministic', () => {
    const name = fc.constantFrom('a', 'b', 'a_a', 'a_b', 'b_a', 'a_a_2', 'long'.repeat(20));
    const offers = fc.array(
      fc.record({
        name: fc.constantFrom('a', 'b', 'ä'),
        tools: fc.uniqueArray(name).map((all) => all.map((one) => tool(one))),
      }),
      { maxLength: 5 },
    );
    fc.assert(
      fc.property(offers, (all) => {
        const tools = nameTools(all);
        expect(tools.size).toBe(all.flatMap(({ tools: own }) => own).length);
        expect([...tools].every(([key, { tool: shown }]) => shown.name === key)).toBe(true);
        expect([...nameTools(all).keys()]).toEqual([...tools.keys()]);
        const first = all.find(({ tools: own }) => own.length > 0);
        for (const { name: own } of first?.tools ?? []) expect(tools.get(own)?.server).toBe(first?.name);
      }),
    );
  });
});

describe('toolServerPool: catalog', () => {
  /** Each server has a resource and a prompt of its own, on two pages. */
  function offering(...servers: string[]) {
    const all = world(...servers);
    const asked: { readonly method: string; readonly params: object }[] = [];
    all.servers.respond = async (method, params) => {
      asked.push({ method, params });
      if (method === 'resources/list')
        return params.cursor === undefined
          ? { resources: [{ uri: 'a://1', name: 'one' }], nextCursor: '2' }
          : { resources: [{ uri: 'a://2', name: 'two' }, 'broken'] };
      if (method === 'prompts/list') return { prompts: [{ name: 'greet' }] };
      if (method === 'resources/read') return { contents: [{ uri: params.uri, text: 'content' }] };
      return { messages: [], asked: params };
    };
    return { ...all, asked };
  }

  test('lists the resources of all servers with all pages', async () => {
    const { pool } = offering('a', 'b');
    const both = pool();
    await both.list();
    const uris = (await both.catalog.resources(patient)).map(({ uri }) => uri);
    expect(uris).toEqual(['a://1', 'a://2', 'a://1', 'a://2']);
  });

  test('reads a resource from the first server that lists it', async () => {
    const { pool, asked } = offering('a', 'b');
    const both = pool();
    await both.list();
    expect(await both.catalog.readResource('a://2', patient)).toMatchObject({ contents: [{ text: 'content' }] });
    expect(asked.filter(({ method }) => method === 'resources/read')).toHaveLength(1);
  });

  test('prompts have each name once, and are fetched under their own', async () => {
    const { pool } = offering('a', 'b');
    const both = pool();
    await both.list();
    expect(names((await both.catalog.prompts(patient)) as { name: string }[])).toEqual(['greet', 'b_greet']);
    expect(await both.catalog.getPrompt('b_greet', { who: 'me' }, patient)).toMatchObject({
      asked: { name: 'greet', arguments: { who: 'me' } },
    });
    await expect(both.catalog.getPrompt('none', undefined, patient)).rejects.toThrow('Prompt not found');
  });

  test('a server that fails to list is left out', async () => {
    const { servers, pool } = offering('a', 'b');
    const both = pool();
    await both.list();
    const [session] = servers.of('a');
    if (session) session.respond = () => Promise.reject(new Error('broken'));
    expect(await both.catalog.resources(patient)).toHaveLength(2);
  });

  test('a request without an answer ends after 30 s', async () => {
    const { servers, pool, time } = offering('a');
    const one = pool();
    await one.list();
    const [session] = servers.of('a');
    if (session) session.respond = () => new Promise(() => {});
    const read = one.catalog.readResource('a://1', patient).catch((error: Error) => error.message);
    await time.pass(31_000);
    await time.pass(31_000);
    expect(await read).toMatch(/not found|could not answer/);
  });

  test('says which servers are connected, with the names of their tools', async () => {
    const { servers, pool, time } = offering('a', 'b', 'c');
    servers.onOpen = ({ name }) => (name === 'c' ? Promise.reject(new Error('no such program')) : Promise.resolve());
    const all = pool();
    expect(all.catalog.servers().map(({ state }) => state)).toEqual(['connecting', 'connecting', 'connecting']);
    await all.list();
    await time.pass(0);
    expect(all.catalog.servers()).toEqual([
      { name: 'a', type: 'command', state: 'connected', tools: ['echo'] },
      { name: 'b', type: 'command', state: 'connected', tools: ['b_echo'] },
      { name: 'c', type: 'command', state: 'failed', reason: 'no such program', tools: [] },
    ]);
  });

  test('servers can be added, replaced and removed', async () => {
    const { servers, pool } = offering('a');
    const one = pool();
    await one.list();
    await one.add(commandConfig('b'));
    await one.add(commandConfig('b'));
    await new Promise((resolve) => setImmediate(resolve));
    expect(names(await one.list())).toEqual(['echo', 'b_echo']);
    expect(servers.of('b').map(({ closed }) => closed)).toContain(false);
    await one.remove('a');
    expect(names(await one.list())).toEqual(['echo']);
    expect(servers.of('a')[0]?.closed).toBe(true);
  });
});
