import { beforeAll, describe, expect, test } from 'vitest';
import { nativeClient } from './client.ts';
import { type LiveServer, untrainedServers } from './server.ts';

const start = untrainedServers();

interface Message {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

type Client = ReturnType<typeof nativeClient>;

/** A chat request of each API; none depends on what the model says. */
const apis: Record<string, (messages: readonly Message[]) => readonly [path: string, body: object]> = {
  'chat completions': (messages) => ['/v1/chat/completions', { model: 'any', messages, max_tokens: 8, temperature: 0 }],
  Messages: (messages) => [
    '/v1/messages',
    {
      model: 'any',
      system: messages.find(({ role }) => role === 'system')?.content,
      messages: messages.filter(({ role }) => role !== 'system'),
      max_tokens: 8,
      temperature: 0,
    },
  ],
  Responses: (input) => ['/v1/responses', { model: 'any', input, max_output_tokens: 8, temperature: 0 }],
  Ollama: (messages) => [
    '/api/chat',
    { model: 'any', messages, stream: false, options: { num_predict: 8, temperature: 0 } },
  ],
  native: (messages) => [
    '/api/v1/generate',
    { prompt: `${messages.map(({ role, content }) => `${role}: ${content}`).join('\n')}\nassistant:`, max_length: 8 },
  ],
};

/** Sends a chat; how many tokens of its prompt came from the cache, and how many were computed. */
async function turn(client: Client, api: string, messages: readonly Message[]) {
  const [path, body] = apis[api]?.(messages) ?? ['', {}];
  const answer = await client.post(path, body);
  expect([answer.status, answer.text]).toEqual([200, expect.anything()]);
  const { last_input_count: all = 0, last_reused_count: cached = 0 } = await client.performance();
  return { all, cached };
}

const story = (topic: string, lines: number) =>
  Array.from({ length: lines }, (_, line) => `Line ${line} about ${topic}: ${line * 7} of ${line + 3}.`).join('\n');

const quoted = (messages: readonly Message[]) =>
  messages.map(({ role, content }) => `${role.toUpperCase()}: ${content}`).join('\n');

/** The side request of chat clients after a reply. */
const sideTask = (task: string, messages: readonly Message[]): Message[] => [
  {
    role: 'user',
    content: `### Task:\n${task}\n### Chat History:\n<chat_history>\n${quoted(messages)}\n</chat_history>`,
  },
];

const title = 'Generate a concise, 3-5 word title with an emoji summarizing the chat history.';
const tags = 'Generate 1-3 broad tags categorizing the main themes of the chat history.';

const chats: Record<string, readonly Message[]> = {
  'one long message': [{ role: 'user', content: story('ships', 31) }],
  'several messages': [
    { role: 'user', content: story('ships', 11) },
    { role: 'assistant', content: story('trees', 11) },
    { role: 'user', content: story('clouds', 11) },
  ],
};

const answered = (messages: readonly Message[]): Message[] => [
  ...messages,
  { role: 'assistant', content: 'They are all about numbers.' },
];

/** A turn of the chat, side requests, and the next turn, whose cached tokens are those of the first one. */
async function expectNextTurnCached(
  client: Client,
  api: string,
  messages: readonly Message[],
  sides: readonly (readonly [api: string, messages: readonly Message[]])[],
): Promise<void> {
  const first = await turn(client, api, messages);
  for (const [other, side] of sides) await turn(client, other, side);
  const next = await turn(client, api, [...answered(messages), { role: 'user', content: 'And the next line?' }]);
  expect(next.cached).toBeGreaterThanOrEqual(first.all - 8);
}

test.each(
  ['', '--smartcache 4', '--parallelrequests 4'].flatMap((flags) =>
    Object.entries(chats).map(([name, messages]) => ({ flags, name, messages })),
  ),
)('"$flags": a chat of $name is still cached after side requests that quote it', async ({ flags, messages }) => {
  const { base, stop } = await start([...flags.split(' ').filter(Boolean), '--quiet']);
  const sides = [title, tags].map((task) => ['chat completions', sideTask(task, answered(messages))] as const);
  await expectNextTurnCached(nativeClient(base), 'chat completions', messages, sides);
  await stop();
});

describe('side requests without flags', () => {
  let server: LiveServer;
  let client: Client;
  beforeAll(async () => {
    server = await start();
    client = nativeClient(server.base);
  });

  const system: Message = { role: 'system', content: story('rules', 12) };
  const ask = (content: string): Message => ({ role: 'user', content });

  test.each(Object.keys(apis))('a chat by %s survives eight side requests of all kinds', async (api) => {
    const chat: Message[] = [system, ask(story(`ships of ${api}`, 20))];
    await expectNextTurnCached(client, api, chat, [
      ['chat completions', [ask(story('something else', 14))]],
      ['Messages', sideTask(title, answered(chat))],
      ['Ollama', sideTask(tags, answered(chat))],
      // A sub-agent with the same rules, the same chat with another end, and its beginning alone.
      [api, [system, ask(story('a search', 9))]],
      [api, [...chat.slice(0, 1), ask(`${chat[1]?.content}\n${story('follow-up questions', 8)}`)]],
      [api, [system, ask('Hello.')]],
      ['native', [ask(story('a haiku', 14))]],
      // The end of the chat right after the rules, as if its beginning had been cut.
      ['Responses', [system, ask(`${chat[1]?.content.slice(300)}\nWhat was this about?`)]],
    ]);
  });

  test('the start and the metrics tell how much memory they may take', async () => {
    expect(server.output()).toMatch(/up to [\d.]+ [GM]B for earlier chats/);
    const metrics = (await client.get('/metrics')).text;
    const figure = (name: string) => Number(new RegExp(`^parley_${name}\\} (\\d+)`, 'm').exec(metrics)?.[1]);
    expect(figure('snapshots\\{model="[^"]+"')).toBeGreaterThan(0);
    expect(figure('snapshot_bytes\\{.*kind="used"')).toBeGreaterThan(0);
    expect(figure('snapshot_bytes\\{.*kind="limit"')).toBeGreaterThan(2 ** 20);
  });
});

test('--smartcache 0: nothing is kept', async () => {
  const { base, stop } = await start(['--smartcache', '0']);
  const client = nativeClient(base);
  const chat = chats['one long message'] as readonly Message[];
  await turn(client, 'chat completions', chat);
  await turn(client, 'chat completions', [{ role: 'user', content: story('something else', 14) }]);
  expect((await turn(client, 'chat completions', chat)).cached).toBeLessThan(20);
  expect((await client.get('/metrics')).text).not.toContain('parley_snapshot_bytes{');
  await stop();
});
