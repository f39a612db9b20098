import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { tool } from './testing/sessions.ts';
import { nameTools, type Offering } from './tool-names.ts';

const offering = (server: string, ...names: string[]): Offering => ({ server, tools: names.map((name) => tool(name)) });
const named = (...offerings: Offering[]) =>
  [...nameTools(offerings)].map(([name, { server, ownName }]) => [name, server, ownName]);

describe('names of tools', () => {
  test('stay as they are where no two servers have the same, in the order of the file', () => {
    expect(named(offering('b', 'two', 'one'), offering('a', 'three'))).toEqual([
      ['two', 'b', 'two'],
      ['one', 'b', 'one'],
      ['three', 'a', 'three'],
    ]);
  });

  test('belong to the first server that has them; the next gets its own name in front', () => {
    expect(named(offering('a', 'echo'), offering('b', 'echo'), offering('c', 'echo'))).toEqual([
      ['echo', 'a', 'echo'],
      ['b_echo', 'b', 'echo'],
      ['c_echo', 'c', 'echo'],
    ]);
  });

  test('never take the place of a tool that is really called so', () => {
    expect(named(offering('a', 'echo'), offering('b', 'echo'), offering('c', 'b_echo'))).toEqual([
      ['echo', 'a', 'echo'],
      ['b_echo_2', 'b', 'echo'],
      ['b_echo', 'c', 'b_echo'],
    ]);
  });

  test('hold nothing that chat APIs forbid, whatever the server is called', () => {
    const [, [second] = []] = named(offering('a', 'echo'), offering('my server: ünï', 'echo'));
    expect(second).toBe('my_server_n_echo');
  });

  test('are no longer than chat APIs allow, and still differ', () => {
    const long = 'x'.repeat(80);
    const names = named(offering('a', long), offering('b', long), offering('b!', long)).map(([name]) => name);
    expect(names.map((name) => name?.length)).toEqual([80, 64, 64]);
    expect(new Set(names).size).toBe(3);
  });

  test('that a server lists twice are there once', () => {
    expect(named(offering('a', 'echo', 'echo'))).toEqual([['echo', 'a', 'echo']]);
  });

  test('change nothing else of a tool', () => {
    const shown = { title: 'Echo', annotations: { readOnlyHint: true } };
    const tools = nameTools([offering('a', 'echo'), { server: 'b', tools: [tool('echo', shown)] }]);
    expect(tools.get('b_echo')?.tool).toEqual({ ...tool('b_echo'), ...shown });
  });

  test('always: every tool is there under a name of its own, and the same lists give the same names', () => {
    const name = fc.constantFrom('a', 'b', 'a_a', 'a_b', 'b_a', 'a_a_2', 'long'.repeat(20));
    const offers = fc.array(
      fc.record({
        server: fc.constantFrom('a', 'b', 'ä'),
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
        for (const { name: own } of first?.tools ?? []) expect(tools.get(own)?.server).toBe(first?.server);
      }),
    );
  });
});
