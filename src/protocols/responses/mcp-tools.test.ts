import { describe, expect, test } from 'vitest';
import type { StoredItem } from '../../store/responses.ts';
import { readApprovals, readMcpServers } from './mcp-tools.ts';

const read = (own: object, listed = new Set<string>()) => {
  const sent = { type: 'mcp', server_label: 'a', server_url: 'b', ...own };
  const [server] = readMcpServers([sent], { listed, ignore: () => undefined });
  if (!server) throw new Error('There is a server.');
  return server;
};
const tool = (name: string, readOnlyHint?: boolean) => ({ name, inputSchema: {}, annotations: { readOnlyHint } });

test.each([
  [undefined, [true, true]],
  [null, [true, true]],
  ['always', [true, true]],
  ['never', [false, false]],
  [{ never: { tool_names: ['look'] } }, [false, true]],
  [{ always: { tool_names: ['look'] } }, [true, true]],
  [{ always: { tool_names: ['write'] }, never: { tool_names: ['look', 'write'] } }, [false, true]],
  [{ never: { read_only: true } }, [false, true]],
  [{ never: { read_only: true, tool_names: ['write'] } }, [true, true]],
])('require_approval %j: a tool needs approval unless never names it', (rule, needed) => {
  const { needsApproval } = read({ require_approval: rule });
  expect([tool('look', true), tool('write')].map((one) => needsApproval?.(one))).toEqual(needed);
});

test.each([
  [undefined, [true, true]],
  [['look'], [true, false]],
  [[], [false, false]],
  [{ tool_names: ['write'] }, [false, true]],
  [{ read_only: true }, [true, false]],
  [{ read_only: false }, [false, true]],
])('allowed_tools %j: a list of names, or a filter', (allowed, offered) => {
  const { offers } = read({ allowed_tools: allowed });
  expect([tool('look', true), tool('write')].map(offers)).toEqual(offered);
});

test.each([
  [{ require_approval: 1 }, 'tools[0].require_approval must be "always", "never" or an object'],
  [
    { require_approval: { never: {} } },
    'tools[0].require_approval.never must be an object with tool_names or read_only',
  ],
  [{ require_approval: { always: { tool_names: 'x' } } }, 'tools[0].require_approval.always.tool_names must be'],
  [{ allowed_tools: {} }, 'tools[0].allowed_tools must be an object with tool_names or read_only'],
  [{ allowed_tools: 'x' }, 'tools[0].allowed_tools must be'],
])('MCP servers: %j is refused', (own, sentence) => {
  expect(() => read(own)).toThrow(sentence);
});

test('MCP servers: a label is used once', () => {
  const server = { type: 'mcp', server_label: 'a', server_url: 'b' };
  expect(() => readMcpServers([server, server], { listed: new Set(), ignore: () => undefined })).toThrow(
    'tools[1].server_label must be different from the other labels.',
  );
});

test('MCP servers: the tools are listed in the reply unless the conversation has them', () => {
  expect([read({}).isListed, read({}, new Set(['a'])).isListed]).toEqual([true, false]);
});

describe('readApprovals', () => {
  const request = { id: 'r', type: 'mcp_approval_request', server_label: 'a', name: 'look', arguments: '{}' };
  const answer = (own: object) => ({ id: 'x', type: 'mcp_approval_response', approval_request_id: 'r', ...own });
  const yes = answer({ approve: true });
  const ran = { id: 'c', type: 'mcp_call', approval_request_id: 'r' };
  const user = { id: 'u', type: 'message', role: 'user' };
  const approvals = (...items: StoredItem[]) => {
    const { results, approved } = readApprovals(items.map((item, index) => ({ item, at: `input[${index}]` })));
    return { result: results.get('r'), approved };
  };

  test('an approved call runs, also if the user writes something too', () => {
    const call = { field: 'input[1]', id: 'r', server: 'a', name: 'look', json: '{}' };
    expect(approvals(request, yes).approved).toEqual([call]);
    expect(approvals(request, yes, user).approved).toEqual([call]);
  });

  test('a call that ran does not run again, and its item has the result', () => {
    expect(approvals(request, yes, ran, user)).toEqual({ result: undefined, approved: [] });
  });

  test.each([
    [{ id: 'm', type: 'message', role: 'assistant' }],
    [{ id: 'm', type: 'reasoning' }],
    [{ id: 'm', type: 'function_call' }],
  ])('a call that was answered does not run again without its item: %j', (item) => {
    expect(approvals(request, yes, item)).toMatchObject({ result: expect.stringContaining('any more'), approved: [] });
  });

  test('a denied call does not run, and the model reads the reason', () => {
    expect(approvals(request, answer({ approve: false, reason: 'too slow' }))).toEqual({
      result: 'The user denied the call, and it was not run. The reason: too slow',
      approved: [],
    });
  });

  test('a request without an answer is not run', () => {
    expect(approvals(request, user)).toMatchObject({
      result: expect.stringContaining('nobody approved'),
      approved: [],
    });
  });

  test('the last answer counts', () => {
    expect(approvals(request, yes, answer({ approve: false })).approved).toEqual([]);
    expect(approvals(request, yes, yes).approved).toHaveLength(1);
  });

  test.each([
    [[yes], 'input[0].approval_request_id must be the id of an mcp_approval_request before it'],
    [[request, answer({})], 'input[1].approve must be true or false'],
    [[{ ...request, name: 5 }, yes], 'name must be a string'],
  ])('%j is refused', (items, sentence) => {
    expect(() => approvals(...items)).toThrow(sentence);
  });
});
