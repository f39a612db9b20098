import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { agents } from '../../src/agents/catalogue.ts';
import { recordedRequests } from '../agents/record.ts';
import { scriptedServer, toolCall } from '../agents/scripted-server.ts';

// The requests that real agents send in one session, with a summary of it: `npm run test:agents` runs the agents themselves.

let reply = '';
let server: Awaited<ReturnType<typeof scriptedServer>>;
beforeAll(async () => {
  server = await scriptedServer(() => reply, 65_536);
});
afterAll(() => server.close());

/** The name of the first tool, in the form of each API. */
function toolOf({ tools = [] }: { tools?: { name?: string; function?: { name: string } }[] }): string | undefined {
  return tools[0]?.function?.name ?? tools[0]?.name;
}

const rows = Object.entries(agents).filter(([, { tested }]) => tested !== undefined);

describe.each(rows)('requests of %s', (name, { tested = '' }) => {
  const requests = recordedRequests(name);

  test('are of the version that the table names', () => {
    expect(new Set(requests.map(({ headers }) => headers['user-agent']?.split('/')[1]))).toEqual(new Set([tested]));
  });

  test.each(requests.map((request, index) => [index, request] as const))('%i: is answered', async (_, request) => {
    const { path, headers, body } = request;
    const tool = toolOf(body);
    reply = tool === undefined ? 'A summary.' : toolCall(tool, { command: 'ls', cmd: 'ls', description: 'Lists.' });
    const answer = await fetch(`http://127.0.0.1:${server.port}${path}`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await answer.text();
    expect({ status: answer.status, text }).toEqual({ status: 200, text: expect.any(String) });
    if (path.includes('count_tokens'))
      return expect(JSON.parse(text)).toMatchObject({ input_tokens: expect.any(Number) });
    expect(text).toContain(tool === undefined ? 'summary' : `"${tool}"`);
    expect(text).toMatch(/message_stop|response\.completed|data: \[DONE\]/);
    expect(server.errors).toEqual([]);
  });
});
