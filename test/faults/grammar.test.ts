import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type NativeClient, nativeClient } from '../live/client.ts';
import { type LiveServer, liveServers } from '../live/server.ts';

const startServer = liveServers();
let server: LiveServer;
let client: NativeClient;
let worker: number | undefined;
beforeAll(async () => {
  server = await startServer();
  client = nativeClient(server.base);
  worker = server.worker();
});

// Whatever a request asks for, the engine stays the same process, and serves the next one.
afterEach(async () => {
  expect(server.output()).not.toContain('The text engine stopped');
  expect(server.worker()).toBe(worker);
  expect((await client.generate({ prompt: 'Once upon a time', max_length: 4 })).text).toMatch(/^, there was/);
});

const complete = (fields: object) =>
  client.post('/completion', { prompt: 'Once upon a time', n_predict: 24, temperature: 0, ...fields });
const lazy = (grammar: string, type: number, value: string) => ({
  grammar,
  grammar_lazy: true,
  grammar_triggers: [{ type, value }],
});

describe('lazy grammar', () => {
  test('with a trigger that cannot match it: is refused', async () => {
    const answer = await complete(lazy('root ::= "b"', 1, 'a'));
    expect(answer.status).toBe(400);
    expect(answer.text).toContain('something with which the grammar can begin');
  });

  test('that does not match after its trigger: generation continues with a warning on the console', async () => {
    const free = (await complete({})).json() as { content: string };
    expect(free.content).toMatch(/^, there/);
    const answer = await complete(lazy('root ::= ", th" "Q"', 1, ', th'));
    expect(answer.json()).toMatchObject({ content: free.content });
    await server.says('does not match the grammar');
  });

  test.each(['(', '(?=a)', '(a)\\1', '['])('with the trigger pattern %s: is refused', async (pattern) => {
    const answer = await complete(lazy('root ::= "b"', 2, pattern));
    expect(answer.status).toBe(400);
    expect(answer.text).toContain('grammar_triggers must be patterns that can be searched for');
  });

  test('with a pattern of catastrophic backtracking: does not delay the reply', async () => {
    const answer = await complete({ ...lazy('root ::= "b"', 2, '(.+)+QQQ'), n_predict: 200, ignore_eos: true });
    expect(answer.json()).toMatchObject({ tokens_predicted: 200 });
  });

  test('applies from its trigger on', async () => {
    const answer = await complete(lazy('root ::= " there" " was" " XYZ"', 2, 'a?( there)'));
    expect(answer.json()).toMatchObject({ content: ', there was XYZ' });
  });
});

describe('grammar', () => {
  const refused: readonly [string, string, RegExp][] = [
    ['without a rule', '# nothing', /line 1, column 1 there is no rule named root/],
    ['with a syntax error', 'root ::= "a"\nx ::= [', /line 2, column 8 /],
    ['with a missing rule', 'root ::= "a" other', /line 1, column 14 there is no rule named other/],
    ['with left recursion', 'root ::= root "a" | "b"', /left recursion/],
    ['with a NUL', 'root ::= "a\0b"', /line 1, column 12 there is a NUL character/],
    ['of 100,000 brackets', `root ::= ${'('.repeat(100_000)}"a"${')'.repeat(100_000)}`, /nested deeper than 200/],
    ['of nested counts', 'root ::= ((("a"{1,999}){1,999}){1,999}){1,999}', /grows beyond 500000 steps/],
    ['of megabytes', `root ::= "${'a'.repeat(3_000_000)}"`, /longer than 1200000 characters/],
    ['that is a deeply nested schema', `${'{"items":'.repeat(50_000)}{}${'}'.repeat(50_000)}`, /nested deeper than 64/],
  ];
  test.each(refused)('%s: is refused with line and column', async (_, grammar, expected) => {
    const answer = await complete({ grammar });
    expect(answer.status).toBe(400);
    expect(answer.text).toMatch(expected);
  });

  test('of 40,000 alternatives: is applied', async () => {
    const words = Array.from({ length: 40_000 }, (_, index) => `"word ${index}."`);
    const answer = await complete({ grammar: `root ::= ${words.join(' | ')}` });
    expect((answer.json() as { content: string }).content).toMatch(/^word \d{1,5}\.$/);
  });

  test('with exponentially many parses: is applied', async () => {
    const answer = await complete({ grammar: 'root ::= "a" root "b" | "a" root "c" | "x"', n_predict: 60 });
    expect((answer.json() as { content: string }).content).toMatch(/^a+(x[bc]*)?$/);
  });

  test('with high counts and non-ASCII classes: is applied', async () => {
    const answer = await complete({ grammar: 'root ::= [^a-zA-Z\\x00-\\x7f]{1,100000}', n_predict: 6 });
    expect(answer.status).toBe(200);
    expect((answer.json() as { content: string }).content).not.toMatch(/[a-zA-Z ]/);
  });

  test('does not apply to a token forced by the thinking budget', async () => {
    const answer = await complete({ grammar: 'root ::= [a-z ]+', thinking_budget_tokens: 0 });
    expect(answer.status).toBe(200);
  });
});

describe('stop texts and banned phrases of 20 MB: are refused in every dialect', () => {
  const long = 'a'.repeat(20_000_000);
  const messages = [{ role: 'user', content: 'Hi' }];
  test.each<[string, object]>([
    ['/api/v1/generate', { prompt: 'Hi', stop_sequence: [long] }],
    ['/api/v1/generate', { prompt: 'Hi', banned_tokens: [long] }],
    ['/completion', { prompt: 'Hi', stop: [long] }],
    ['/v1/completions', { prompt: 'Hi', stop: long }],
    ['/v1/chat/completions', { messages, stop: [long] }],
    ['/v1/responses', { input: 'Hi', stop: [long] }],
    ['/v1/messages', { messages, max_tokens: 5, stop_sequences: [long] }],
    ['/api/chat', { model: 'parley', messages, options: { stop: [long] }, stream: false }],
  ])('%s', async (path, body) => {
    const answer = await client.post(path, body);
    expect(answer.status).toBe(400);
    expect(answer.text).toContain('at most 50000 characters');
  });
});
