import type OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { askChat, bothWays } from './ask.ts';
import { liveClients } from './live-clients.ts';
import { clock, offTopic, weather, weatherQuestion, weatherReport } from './questions.ts';

const tools = [weather, clock].map((tool) => ({ type: 'function' as const, function: tool }));
const question = (content: string): OpenAI.ChatCompletionMessageParam[] => [{ role: 'user', content }];

/** Calls by our own two steps, and calls in the words of the model's template. */
describe.each([
  { kind: 'by two steps', flags: [] },
  { kind: 'by the template', flags: ['--jinjatools'] },
])('tools $kind', ({ flags }) => {
  const live = liveClients(flags);

  describe.each(bothWays)('$way', ({ stream }) => {
    const chat = async (fields: Parameters<typeof askChat>[2]) => {
      const reply = await askChat(live.openai, stream, { tools, ...fields });
      const [choice] = reply.choices;
      if (!choice) throw new Error('no choice');
      const calls = (choice.message.tool_calls ?? []).flatMap((call) => (call.type === 'function' ? [call] : []));
      return { ...choice, calls, usage: reply.usage };
    };

    test('a matching tool is called with the right arguments', async () => {
      const { calls, message, finish_reason: reason, usage } = await chat({ messages: question(weatherQuestion) });
      expect(calls).toHaveLength(1);
      expect(calls[0]).toMatchObject({ id: expect.stringMatching(/^call_/), function: { name: 'get_weather' } });
      expect(JSON.parse(calls[0]?.function.arguments ?? '')).toEqual({ city: 'Paris' });
      // A stream cannot know at its beginning that there will be no text.
      expect([message.content, reason]).toEqual([stream ? '' : null, 'tool_calls']);
      expect(usage?.prompt_tokens).toBeGreaterThan(50);
      expect(usage?.completion_tokens).toBeGreaterThan(10);
      expect(usage?.total_tokens).toBe((usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0));
    });

    test('a tool result leads to an answer', async () => {
      const { message, calls } = await chat({ messages: question(weatherQuestion) });
      const result = { role: 'tool' as const, tool_call_id: calls[0]?.id ?? '', content: weatherReport };
      const answer = await chat({ messages: [...question(weatherQuestion), message, result] });
      expect(answer.calls).toEqual([]);
      expect(answer.finish_reason).toBe('stop');
      // The small model reads a result well only in the form that it was trained on.
      expect(answer.message.content).toMatch(flags.length > 0 ? /21.*Paris/ : /Paris/);
    });

    test('tool_choice required: a tool is always called, and its arguments match the schema', async () => {
      const { calls, finish_reason: reason } = await chat({ messages: question(offTopic), tool_choice: 'required' });
      expect(reason).toBe('tool_calls');
      expect(calls.length).toBeGreaterThan(0);
      for (const { function: called } of calls) {
        expect(['get_weather', 'get_time']).toContain(called.name);
        expect(JSON.parse(called.arguments)).toEqual({ city: expect.any(String) });
      }
    });

    test('tool_choice with a name: that tool is called', async () => {
      const choice = { type: 'function' as const, function: { name: 'get_time' } };
      const { calls } = await chat({ messages: question(weatherQuestion), tool_choice: choice });
      expect(calls.map(({ function: called }) => called.name)).toEqual(['get_time']);
    });

    test('tool_choice none: no tool is called', async () => {
      const {
        calls,
        message,
        finish_reason: reason,
      } = await chat({
        messages: question(weatherQuestion),
        tool_choice: 'none',
      });
      expect([calls, reason]).toEqual([[], 'stop']);
      expect(message.content).toMatch(/\w/);
    });

    test('tool_choice: an unknown tool is refused', async () => {
      const choice = { type: 'function' as const, function: { name: 'launch' } };
      await expect(chat({ messages: question(offTopic), tool_choice: choice })).rejects.toMatchObject({
        status: 400,
        param: 'tool_choice',
      });
    });
  });

  test('stream with a call: has the same usage as the whole reply', async () => {
    const [whole, streamed] = [
      await askChat(live.openai, false, { messages: question(weatherQuestion), tools }),
      await askChat(live.openai, true, { messages: question(weatherQuestion), tools }),
    ];
    expect(streamed.usage?.prompt_tokens).toBe(whole.usage?.prompt_tokens);
    expect(streamed.usage?.completion_tokens).toBe(whole.usage?.completion_tokens);
  });
});
