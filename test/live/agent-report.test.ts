import { beforeAll, expect, test } from 'vitest';
import { agentShapes, type ClientRequest } from '../../bench/agent-shapes.ts';
import { type LiveServer, untrainedServers } from './server.ts';

const start = untrainedServers();
let server: LiveServer;
beforeAll(async () => {
  server = await start(['--ctx-size', '4096', '--quiet']);
});

const turns = 3;
const shapes = agentShapes({ words: 0.5, turns, scale: 0.05 });

/** Of each conversation, in the order in which they began: turns, side requests, losses. */
const expected: Readonly<Record<string, readonly (readonly [turns: number, sides: number, losses: number])[]>> = {
  'Claude Code': [
    [3, 1, 0],
    [1, 0, 0],
    [1, 0, 0],
    [1, 0, 0],
  ],
  Codex: [
    [3, 0, 0],
    [1, 0, 0],
    [1, 0, 0],
    [1, 0, 0],
  ],
  opencode: [
    [3, 1, 0],
    [1, 0, 0],
    [1, 0, 0],
    [1, 0, 0],
  ],
  'Open WebUI': [
    [3, 5, 0],
    [1, 0, 0],
  ],
  // Its questions about the mood share nothing with the chat.
  SillyTavern: [
    [3, 0, 0],
    [1, 0, 0],
    [1, 0, 0],
    [1, 0, 0],
    [1, 0, 0],
  ],
};

test.each(shapes.map((shape) => [shape.name, shape] as const))(
  'conversations: turns, sub-agents and side requests of %s are told apart',
  async (name, shape) => {
    const address = `${server.base}/api/extra/conversations`;
    const send = async ({ path, headers, body }: ClientRequest): Promise<void> => {
      const sent = { 'content-type': 'application/json', ...headers };
      await (await fetch(server.base + path, { method: 'POST', headers: sent, body: JSON.stringify(body) })).text();
    };
    await fetch(address, { method: 'DELETE' });
    for (let turn = 0; turn < turns; turn += 1) {
      await send(shape.turn(turn));
      for (const request of [...shape.sideRequests(turn), ...shape.after(turn)]) await send(request);
    }
    await send(shape.anew);
    const { conversations } = (await (await fetch(address)).json()) as { conversations: readonly Reported[] };
    const figures = conversations
      .toSorted((one, other) => one.number - other.number)
      .map((one) => [one.turns, one.side_requests, one.history.filter(({ loss }) => loss !== null).length]);
    expect(figures).toEqual(expected[name]);
  },
);

interface Reported {
  readonly number: number;
  readonly turns: number;
  readonly side_requests: number;
  readonly history: readonly { readonly loss: object | null }[];
}
