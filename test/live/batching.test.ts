import { beforeAll, expect, test } from 'vitest';
import { type NativeResult, nativeClient } from './client.ts';
import { expectMostlyShared, sharedUntilTie, withTokens } from './near-tie.ts';
import { liveServers, untrainedServers } from './server.ts';

const start = liveServers();
const startUntrained = untrainedServers();
const flags = ['--parallelrequests', '32', '--batchall', '--multiuser', '40', '--quiet'];
const animals = ['cat', 'dog', 'fox', 'bear', 'king', 'girl', 'boy', 'tree'];
const openings = [
  (index: number) => `Once upon a time there was a ${animals[index % 8]} who`,
  (index: number) => `<|im_start|>user\nTell me about number ${index}.<|im_end|>\n<|im_start|>assistant\n`,
  (index: number) => `The year ${1900 + index} was`,
  (index: number) => `Lily and Tom ${index % 3 ? 'played' : 'ran'} in the`,
];
/** Samplers of every kind, so that one request's settings would show in another's text if they leaked. */
const settings = [
  {},
  { dry_multiplier: 0.8, dry_sequence_breakers: ['\n'] },
  { top_a: 0.1, tfs: 0.9 },
  { banned_tokens: ['little girl', 'big red'] },
  { rep_pen: 1.2 },
  { grammar: 'root ::= [a-z ,.]+' },
  { mirostat: 2, temperature: 0.7, sampler_seed: 5 },
  { typical: 0.9, logit_bias: { 100: -50 } },
];
const request = (index: number) => ({
  prompt: openings[index % 4]?.(index) ?? '',
  max_length: 32,
  temperature: 0,
  ...settings[index % 8],
});

let client: ReturnType<typeof nativeClient>;
beforeAll(async () => {
  client = nativeClient((await start(flags)).base);
});

/*
 * Not byte for byte: the kernels for quantized weights round the rows of a wide batch differently from a single row, so the same logit
 * differs in its last digits in the two runs. Where two tokens are nearly tied, either may be the highest, and from there on the texts
 * have different contexts. `sharedUntilTie` therefore demands equal tokens up to the first difference, and asks the server for the two
 * rival tokens behind them, with the penalties and bans of the request: they must be within `nearTie`, twice the largest movement of a
 * likely logit that rounding was seen to cause. Settings that leaked between requests (a ban, a bias of -50, a grammar, a penalty of
 * 1.2) would move logits further than that.
 */
test('batching: 32 requests with mixed samplers give the same texts as alone, up to near ties', async () => {
  const requests = Array.from({ length: 32 }, (_, index) => withTokens(request(index)));
  const alone: NativeResult[] = [];
  for (const asked of requests) alone.push(await client.generate(asked));
  const together = await Promise.all(requests.map((asked) => client.generate(asked)));
  const shares: number[] = [];
  for (const [index, asked] of requests.entries()) {
    const [actual, expected] = [together[index], alone[index]] as [NativeResult, NativeResult];
    shares.push(await sharedUntilTie(client, asked, actual, expected));
  }
  expectMostlyShared(shares);
});

test('batching: a long prompt is processed in chunks beside running streams', async () => {
  const long = Array.from({ length: 300 }, (_, index) => `Item ${index} is here.`).join(' ');
  const { generate } = nativeClient((await startUntrained(flags)).base);
  const streams = [0, 4, 8, 12].map((index) => generate({ ...request(index), max_length: 60 }));
  const reader = generate({ prompt: long, max_length: 8, temperature: 0 });
  const all = await Promise.all([reader, ...streams]);
  expect(all.map(({ completion_tokens }) => completion_tokens)).toEqual([8, 60, 60, 60, 60]);
});

test('batching: an idle slot between two active ones keeps its text', async () => {
  const chats = ['king', 'bear', 'tree'].map((who) => `Long ago a ${who} found a map.`);
  const turns = async (withOthers: boolean): Promise<string[]> => {
    const server = await start(['--parallelrequests', '3', '--quiet']);
    const { generate } = nativeClient(server.base);
    const first: string[] = [];
    // One after the other, so that each has a sequence of its own; the second lies between the others.
    for (const prompt of chats) first.push(prompt + (await generate({ prompt })).text);
    const more = (index: number) => generate({ prompt: `${first[index]} Then`, max_length: 40 });
    if (withOthers) await Promise.all([more(0), more(2)]);
    const rested = (await more(1)).text;
    await server.stop();
    return [...first, rested];
  };
  expect(await turns(true)).toEqual(await turns(false));
});
