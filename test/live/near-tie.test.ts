import { expect, test } from 'vitest';
import type { Answer, NativeClient, NativeResult } from './client.ts';
import { sharedUntilTie } from './near-tie.ts';

/** A reply of these tokens; a number stands for its token. */
const reply = (...ids: readonly number[]) =>
  ({
    text: ids.join(''),
    logprobs: { content: ids.map((token_id) => ({ token: `<${token_id}>`, token_id, top_logprobs: [] })), tokens: [] },
  }) as unknown as NativeResult;

/** Counts prompts as token 1, and tells these probabilities; `asked` gets the request for them. */
function fakeClient(chances: Readonly<Record<string, number>>, asked: object[] = []): NativeClient {
  const post = async (path: string, body: unknown): Promise<Answer> => {
    if (path === '/api/extra/tokencount') return answer({ ids: [1] });
    asked.push(body as object);
    return answer({ choices: [{ logprobs: { top_logprobs: [chances] } }] });
  };
  return { post } as unknown as NativeClient;
}

const answer = (body: object): Answer =>
  ({ status: 200, text: '', headers: new Headers(), json: () => body }) satisfies Answer;

const request = { prompt: 'Once', temperature: 0 };

test('sharedUntilTie: asks for the probabilities behind the generated tokens, not behind their text', async () => {
  const asked: object[] = [];
  const client = fakeClient({ '<8>': -1.1, '<9>': -1.3 }, asked);
  expect(await sharedUntilTie(client, request, reply(5, 6, 8, 4), reply(5, 6, 9, 7))).toBe(0.5);
  expect(asked).toMatchObject([{ prompt: [1, 5, 6], temperature: 1, logit_bias: {} }]);
});

test('sharedUntilTie: lifts both tokens instead of beginning a grammar in the middle of its text', async () => {
  const asked: object[] = [];
  const limited = { ...request, grammar: 'root ::= "one" "two"', logit_bias: { 3: -5 } };
  await sharedUntilTie(fakeClient({ '<8>': -0.6, '<9>': -0.8 }, asked), limited, reply(5, 8), reply(5, 9));
  expect(asked[0]).toMatchObject({ logit_bias: { 3: -5, 8: 50, 9: 50 } });
  expect(asked[0]).not.toHaveProperty('grammar');
});

test.each([
  ['are far apart', { '<8>': -0.5, '<9>': -1.3 }],
  ['are not both among the likely ones', { '<8>': -0.5 }],
])('sharedUntilTie: fails where the two tokens %s', async (_, chances) => {
  await expect(sharedUntilTie(fakeClient(chances), request, reply(5, 8), reply(5, 9))).rejects.toThrow('["<8>","<9>"]');
});

test('sharedUntilTie: equal tokens need equal texts', async () => {
  expect(await sharedUntilTie(fakeClient({}), request, reply(5, 6), reply(5, 6))).toBe(1);
  await expect(
    sharedUntilTie(fakeClient({}), request, { ...reply(5, 6), text: 'another' }, reply(5, 6)),
  ).rejects.toThrow();
});
