import type OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { neverEnding } from '../live/client.ts';
import { untrainedServers } from '../live/server.ts';
import { liveClients } from './live-clients.ts';

const model = 'any';
const openings = ['Once upon a time', 'The little fox', 'One day, a girl', 'Tom had a'];
const request = { model, max_tokens: 12, temperature: 0, ...neverEnding };

type Chunk = OpenAI.Completion;

/** The text of each choice in a stream, and the order in which the choices spoke. */
async function streamed(stream: AsyncIterable<Chunk>) {
  const texts: string[] = [];
  const reasons: (string | null)[] = [];
  const order: number[] = [];
  let usage: OpenAI.CompletionUsage | undefined;
  for await (const chunk of stream) {
    usage = chunk.usage ?? usage;
    for (const { index, text, finish_reason } of chunk.choices) {
      texts[index] = (texts[index] ?? '') + text;
      reasons[index] = finish_reason;
      order.push(index);
    }
  }
  return { texts, reasons, order, usage };
}

/** The number of the prompt that a text begins with. What follows may differ where others are computed beside it. */
const ownOpening = (text: string) => openings.findIndex((opening) => text.startsWith(opening));

/** How often another choice speaks than the one before. */
const turns = (order: readonly number[]) => order.filter((one, index) => index > 0 && one !== order[index - 1]).length;

describe.each([
  ['one after the other', []],
  ['beside each other', ['--parallelrequests', '3']],
])('OpenAI SDK: several prompts in one request, %s', (way, flags) => {
  const live = liveClients(flags, {}, untrainedServers());

  async function alone(prompt: string): Promise<string> {
    const reply = await live.openai.completions.create({ ...request, prompt });
    return reply.choices[0]?.text ?? '';
  }

  test('have their own texts, in their order, and one usage', async () => {
    let tokens = 0;
    for (const prompt of openings) {
      const reply = await live.openai.completions.create({ ...request, prompt });
      tokens += reply.usage?.prompt_tokens ?? 0;
    }
    const { choices, usage } = await live.openai.completions.create({ ...request, prompt: openings, echo: true });
    expect(choices.map(({ index }) => index)).toEqual([0, 1, 2, 3]);
    expect(choices.map(({ text }) => ownOpening(text))).toEqual([0, 1, 2, 3]);
    expect(usage).toMatchObject({ prompt_tokens: tokens, completion_tokens: 48, total_tokens: tokens + 48 });
  });

  test('accept lists of token ids', async () => {
    const lists = [
      [262, 500, 700],
      [300, 400],
    ];
    const echo = { ...request, max_tokens: 0, echo: true };
    const { choices } = await live.openai.completions.create({ ...echo, prompt: lists });
    expect(choices).toHaveLength(2);
    const [single] = (await live.openai.completions.create({ ...echo, prompt: lists[1] as number[] })).choices;
    expect(choices[1]?.text).toBe(single?.text);
    expect(choices[0]?.text).not.toBe(single?.text);
  });

  test('stream: chunks have the index of their prompt', async () => {
    const options = { echo: true, stream: true as const, stream_options: { include_usage: true } };
    const stream = await live.openai.completions.create({ ...request, ...options, prompt: openings });
    const { texts, reasons, order, usage } = await streamed(stream);
    expect(texts.map(ownOpening)).toEqual([0, 1, 2, 3]);
    expect(reasons).toEqual(['length', 'length', 'length', 'length']);
    expect(usage?.completion_tokens).toBe(48);
    if (way === 'beside each other') expect(turns(order)).toBeGreaterThan(openings.length);
    else expect(turns(order)).toBe(openings.length - 1);
  });

  test('n and best_of: apply to each prompt', async () => {
    const sampled = { ...request, temperature: 1, seed: 5, prompt: openings.slice(0, 2) };
    const two = await live.openai.completions.create({ ...sampled, n: 2 });
    expect(two.choices.map(({ index }) => index)).toEqual([0, 1, 2, 3]);
    const best = await live.openai.completions.create({ ...sampled, n: 1, best_of: 3, echo: true });
    expect(best.choices.map(({ text }, index) => text.startsWith(openings[index] as string))).toEqual([true, true]);
    expect(best.usage?.completion_tokens).toBe(6 * 12);
  });

  test('one invalid prompt fails the whole request', async () => {
    const prompt = [openings[0] as string, 'word '.repeat(20_000)];
    await expect(live.openai.completions.create({ ...request, prompt })).rejects.toMatchObject({ status: 400 });
    expect(await alone(openings[0] as string)).not.toBe('');
  });

  test('disconnect: stops all prompts', async () => {
    const controller = new AbortController();
    const endless = { model, max_tokens: 4000, temperature: 0, ...neverEnding };
    const stream = await live.openai.completions.create(
      { ...endless, prompt: openings, stream: true },
      { signal: controller.signal },
    );
    for await (const _ of stream) break;
    controller.abort();
    // Four replies of that length would take minutes.
    expect(await alone(openings[1] as string)).not.toBe('');
  });

  test('other requests get turns between the prompts', async () => {
    const finished: string[] = [];
    const many = live.openai.completions
      .create({ ...request, max_tokens: 24, prompt: Array.from({ length: 6 }, () => openings[0] as string) })
      .then(() => finished.push('many'));
    const one = live.openai.completions
      .create({ ...request, prompt: openings[2] as string })
      .then(() => finished.push('one'));
    await Promise.all([many, one]);
    expect(finished).toEqual(['one', 'many']);
  });
});
