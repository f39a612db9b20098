import { expect, test } from 'vitest';
import { text } from '../../chat/messages.ts';
import type { GenerationEvent, PromptOrigin } from '../../core/events.ts';
import type { GenerationRequest } from '../../core/request.ts';
import { turnLine } from './line.ts';
import { ConversationReport } from './report.ts';
import { conversationEndpoints } from './routes.ts';

interface Sent {
  readonly headers?: Readonly<Record<string, string>>;
  readonly key?: string;
  readonly ask?: string;
  readonly prompt: number;
  readonly cached?: number;
  readonly origin?: PromptOrigin;
  readonly miss?: { readonly kept: string; readonly wanted: string; readonly partedAt: number };
}

/** Computes 1,000 prompt tokens a second; each request takes as long, and 50 tokens are written. */
function reportWorld(limits = { conversations: 100, turns: 100 }) {
  let time = 0;
  const lines: (string | undefined)[] = [];
  const report = new ConversationReport({
    now: () => time,
    tick: () => time,
    limits,
    ended: (conversation, turn, speed) =>
      lines.push(turnLine(conversation, turn, { now: new Date(2026, 0, 1, 12), quiet: false, speed })),
  });
  const send = ({ headers = {}, key, ask = 'go on', prompt, cached = 0, origin, miss }: Sent): void => {
    const shape = { id: '1', path: '/v1/x', family: 'openai', endpoint: '/v1/x', remoteAddress: '127.0.0.1' };
    const watch = report.watch({ ...shape, method: 'POST', headers: { 'user-agent': 'curl/8', ...headers } });
    const request = {} as GenerationRequest;
    watch?.authorized?.(key, true);
    watch?.modelSelected?.('tiny');
    watch?.decoded?.({ conversation: { messages: [{ role: 'user', content: text(ask) }] }, controls: {} });
    watch?.generationBegun?.(request, 32_768, 7);
    const event = (next: GenerationEvent) => watch?.event?.(next, 7, request);
    const counts = { promptTokens: prompt, cachedTokens: cached };
    const missed = miss && { time, reusedTokens: cached, promptTokens: prompt, before: '', ...miss };
    event({
      type: 'start',
      ...counts,
      maxTokens: 9,
      seed: 1,
      ...(origin && { origin }),
      ...(missed && { miss: missed }),
    });
    time += prompt - cached;
    event({ type: 'text-delta', text: 'a' });
    event({
      type: 'finish',
      reason: 'stop',
      cause: 'end-token',
      usage: { ...counts, completionTokens: 50 },
      timings: { initMs: 0, promptMs: prompt - cached, generationMs: 10, processedTokens: prompt - cached },
    });
  };
  return { report, lines, send };
}

const first = { sequence: 1 };
const next = (common: number, relation: 'continues' | 'edits' | 'branches' = 'continues'): PromptOrigin => ({
  sequence: relation === 'continues' ? 1 : 2,
  previous: { sequence: 1, common, promptTokens: common, tokens: 12_050, relation },
});
const claude = { 'user-agent': 'claude-cli/2.1 (external, cli)', 'x-claude-code-session-id': 'a' };

test('turns of a conversation are followed, with a line for each', () => {
  const { report, lines, send } = reportWorld();
  send({ headers: claude, prompt: 12_000, origin: first });
  send({ headers: claude, prompt: 12_500, cached: 12_050, origin: next(12_050) });
  const miss = { kept: ' Nov 17', wanted: ' Nov 18', partedAt: 2_050 };
  send({ headers: claude, prompt: 13_000, cached: 2_050, origin: next(2_050, 'edits'), miss });
  expect(lines).toEqual([
    '[12:00:00] Claude Code #1, turn 1: 0 of 12000 prompt tokens from the cache, 12000 computed, first token after 12.00 s, 50 written',
    '[12:00:00] Claude Code #1, turn 2: 12050 of 12500 prompt tokens from the cache, 450 computed, first token after 0.45 s, 50 written',
    '[12:00:00] Claude Code #1, turn 3: 2050 of 13000 prompt tokens from the cache, 10950 computed, first token after 10.95 s, 50 written. 10000 tokens were computed again, about 10.0 s: the prompt differs at token 2050: " Nov 18" instead of " Nov 17"',
  ]);
  expect(report.list()).toHaveLength(1);
  expect(report.list()[0]?.totals).toEqual({
    turns: 3,
    sides: 0,
    cached: 14_100,
    computed: 23_400,
    written: 150,
    lost: 10_000,
  });
});

test('side requests belong to their conversation and are no turns; a client may be known by them only', () => {
  const { report, lines, send } = reportWorld();
  const headers = { 'user-agent': 'Python/3.11 aiohttp/3.12' };
  send({ headers, prompt: 3_000, origin: first });
  send({ headers, ask: '### Task:\nGenerate a concise title', prompt: 400, origin: { sequence: 5 } });
  send({ headers, prompt: 3_200, cached: 3_050, origin: next(3_050) });
  const [conversation] = report.list();
  expect(conversation?.client.name).toBe('Open WebUI');
  expect(conversation?.totals).toMatchObject({ turns: 2, sides: 1 });
  expect(conversation?.history.map(({ task }) => task)).toEqual([undefined, 'title', undefined]);
  expect(lines[1]).toContain('Open WebUI #1, side request (title): 0 of 400');
});

test('short conversations have no line, and a side request on its own is not kept', () => {
  const { report, lines, send } = reportWorld();
  send({ prompt: 100, origin: first });
  expect(lines).toEqual([undefined]);
  send({
    headers: { 'user-agent': 'x/1' },
    ask: '### Task:\nGenerate a concise title',
    prompt: 9_000,
    origin: { sequence: 3 },
  });
  expect(report.list()).toHaveLength(1);
});

test('sub-agents have a conversation of their own', () => {
  const { report, send } = reportWorld();
  send({ headers: claude, prompt: 12_000, origin: first });
  send({ headers: { ...claude, 'x-claude-code-agent-id': 'b' }, prompt: 5_000, origin: { sequence: 2 } });
  send({ headers: claude, prompt: 12_500, cached: 12_050, origin: next(12_050) });
  expect(report.list().map(({ isSubAgent, totals }) => [isSubAgent, totals.turns])).toEqual([
    [false, 2],
    [true, 1],
  ]);
});

test('the same beginning under another key is another conversation, without the words of the first', () => {
  const { report, send } = reportWorld();
  send({ key: 'anna', prompt: 12_000, origin: first });
  const miss = { kept: 'secret of anna', wanted: 'x', partedAt: 2_000 };
  send({ key: 'ben', prompt: 12_000, cached: 2_000, origin: next(2_000, 'edits'), miss });
  expect(report.list('key ben')[0]?.history).toEqual([expect.not.objectContaining({ loss: expect.anything() })]);
});

test('a later turn that follows the prompt of another key has none of its words', () => {
  const { report, send } = reportWorld();
  const headers = { 'session-id': 'ben' };
  send({ key: 'anna', prompt: 12_000, origin: first });
  send({ key: 'ben', headers, prompt: 12_000, origin: { sequence: 9 } });
  const miss = { kept: 'secret of anna', wanted: 'x', partedAt: 2_000 };
  send({ key: 'ben', headers, prompt: 12_000, cached: 2_000, origin: next(2_000, 'edits'), miss });
  const history = report.list('key ben')[0]?.history;
  expect(history).toHaveLength(2);
  expect(JSON.stringify(history)).not.toContain('secret of anna');
});

test('conversations and turns are bounded; single requests go first', () => {
  const { report, send } = reportWorld({ conversations: 3, turns: 2 });
  send({ prompt: 2_000, origin: first });
  for (let turn = 0; turn < 3; turn += 1) send({ prompt: 2_000, origin: next(1_900) });
  for (let single = 10; single < 20; single += 1) send({ prompt: 2_000, origin: { sequence: single } });
  expect(report.list().map(({ number }) => number)).toEqual([11, 10, 1]);
  expect(report.list().at(-1)?.history).toHaveLength(2);
  expect(report.list().at(-1)?.totals.turns).toBe(4);
});

test('endpoint: a key sees and forgets its own, an administrator all; secrets of the settings are taken out', async () => {
  const { report, send } = reportWorld();
  send({ key: 'anna', prompt: 12_000, origin: first });
  send({ key: 'ben', headers: { 'user-agent': 'hunter22/1' }, prompt: 2_000, origin: { sequence: 9 } });
  const access = { enabled: true, password: undefined };
  const rows = conversationEndpoints({ report, access, hasKeys: true, secrets: ['hunter22'] });
  const ask = async (index: number, name: string, scopes: readonly string[] = []) => {
    const call = { headers: {}, key: { name, scopes } } as never;
    const reply = (await rows[index]?.handle(call, {})) as { readonly body: string };
    return JSON.parse(reply.body) as { conversations: { key: string; client: string }[] };
  };
  expect((await ask(0, 'anna')).conversations.map(({ key }) => key)).toEqual(['anna']);
  expect((await ask(0, 'root', ['admin'])).conversations.map(({ client }) => client)).toEqual(['[redacted]', 'curl']);
  await ask(1, 'anna');
  expect((await ask(0, 'root', ['admin'])).conversations.map(({ key }) => key)).toEqual(['ben']);
});

test('endpoint: says that the report is off', async () => {
  const access = { enabled: false, password: undefined };
  const [list] = conversationEndpoints({ report: undefined, access, hasKeys: false, secrets: [] });
  const reply = (await list?.handle({ headers: {} } as never, {})) as { readonly body: string };
  expect(JSON.parse(reply.body)).toEqual({ enabled: false, conversations: [] });
});
