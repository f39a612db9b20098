import { expect, test } from 'vitest';
import { liveServers } from './server.ts';

const start = liveServers();

interface Message {
  readonly role: 'user' | 'assistant';
  readonly content: string;
}

interface Usage {
  readonly prompt_tokens: number;
  readonly prompt_tokens_details: { readonly cached_tokens: number };
}

async function usageOf(base: string, messages: readonly Message[]): Promise<Usage> {
  const body = JSON.stringify({ model: 'any', messages, max_tokens: 8, temperature: 0 });
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${base}/v1/chat/completions`, { method: 'POST', headers, body });
  return ((await answer.json()) as { usage: Usage }).usage;
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

/** The replies of the chat are the test's own, so that nothing depends on what the model says. */
async function expectNextTurnCached(base: string, messages: readonly Message[]): Promise<void> {
  const first = await usageOf(base, messages);
  const answered: Message[] = [...messages, { role: 'assistant', content: 'They are all about numbers.' }];
  for (const task of [title, tags]) await usageOf(base, sideTask(task, answered));
  const next = await usageOf(base, [...answered, { role: 'user', content: 'And the next line?' }]);
  expect(next.prompt_tokens_details.cached_tokens).toBeGreaterThanOrEqual(first.prompt_tokens - 8);
}

test.each(
  [
    ['--smartcache', '4'],
    ['--parallelrequests', '4'],
  ].flatMap((flags) => Object.entries(chats).map(([name, messages]) => ({ flags: flags.join(' '), name, messages }))),
)('$flags: a chat of $name is still cached after side requests that quote it', async ({ flags, messages }) => {
  const { base } = await start([...flags.split(' '), '--quiet']);
  await expectNextTurnCached(base, messages);
});
