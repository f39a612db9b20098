import type OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { saying } from '../live/client.ts';
import { askChat, bothWays } from './ask.ts';
import { liveClients } from './live-clients.ts';
import { clock, offTopic, parisOnly, weather, weatherQuestion, weatherReport } from './questions.ts';
import { scriptedTools, toolWays, weatherAnswer } from './tool-ways.ts';

const tools = [weather, clock].map((tool) => ({ type: 'function' as const, function: tool }));
const question = (content: string): OpenAI.ChatCompletionMessageParam[] => [{ role: 'user', content }];

describe.each(toolWays)('OpenAI SDK: tools $kind', (toolWay) => {
  const live = liveClients(toolWay.flags);
  const script = scriptedTools(toolWay);

  describe.each(bothWays)('$way', ({ stream }) => {
    const chat = async (fields: Parameters<typeof askChat>[2], { openai } = live) => {
      const reply = await askChat(openai, stream, { tools, ...fields });
      const [choice] = reply.choices;
      if (!choice) throw new Error('no choice');
      const calls = (choice.message.tool_calls ?? []).flatMap((call) => (call.type === 'function' ? [call] : []));
      return { ...choice, calls, usage: reply.usage };
    };

    test('a matching tool is called with the right arguments', async () => {
      const request = { messages: question(script.ask()) };
      const { calls, message, finish_reason: reason } = await chat(request, script.live);
      expect(calls).toHaveLength(1);
      expect(calls[0]).toMatchObject({ id: expect.stringMatching(/^call_/), function: { name: 'get_weather' } });
      expect(JSON.parse(calls[0]?.function.arguments ?? '')).toEqual({ city: 'Paris' });
      // A stream cannot know at its beginning that there will be no text.
      expect([message.content, reason]).toEqual([stream ? '' : null, 'tool_calls']);
    });

    test('a tool result leads to an answer', async () => {
      const request = question(script.ask());
      const { message, calls } = await chat({ messages: request }, script.live);
      const result = { role: 'tool' as const, tool_call_id: calls[0]?.id ?? '', content: weatherReport };
      const answer = await chat({ messages: [...request, message, result] }, script.live);
      expect(answer.calls).toEqual([]);
      expect(answer.finish_reason).toBe('stop');
      expect(answer.message.content).toBe(weatherAnswer);
    });

    test('tool_choice required: a tool is always called, and its arguments match the schema', async () => {
      const { calls, finish_reason: reason } = await chat({
        messages: question(offTopic),
        tool_choice: 'required',
        parallel_tool_calls: false,
      });
      expect(reason).toBe('tool_calls');
      expect(calls.length).toBeGreaterThan(0);
      for (const { function: called } of calls) {
        expect(['get_weather', 'get_time']).toContain(called.name);
        expect(JSON.parse(called.arguments)).toEqual({ city: expect.any(String) });
      }
    });

    test('tool_choice with a name: that tool is called', async () => {
      const choice = { type: 'function' as const, function: { name: 'get_time' } };
      const { calls, usage } = await chat({
        messages: question(weatherQuestion),
        tool_choice: choice,
        parallel_tool_calls: false,
      });
      expect(calls.map(({ function: called }) => called.name)).toEqual(['get_time']);
      expect(usage?.prompt_tokens).toBeGreaterThan(50);
      expect(usage?.completion_tokens).toBeGreaterThan(10);
      expect(usage?.total_tokens).toBe((usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0));
    });

    test('tool_choice none: no tool is called', async () => {
      const {
        calls,
        message,
        finish_reason: reason,
      } = await chat({
        messages: question(weatherQuestion),
        tool_choice: 'none',
        ...saying('No tool, only words.'),
      });
      expect([calls, message.content, reason]).toEqual([[], 'No tool, only words.', 'stop']);
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
    const choice = { type: 'function' as const, function: { name: parisOnly.name } };
    const request = {
      messages: question(weatherQuestion),
      tools: [{ type: 'function' as const, function: parisOnly }],
      tool_choice: choice,
      parallel_tool_calls: false,
    };
    const [whole, streamed] = [await askChat(live.openai, false, request), await askChat(live.openai, true, request)];
    expect(streamed.usage?.prompt_tokens).toBe(whole.usage?.prompt_tokens);
    expect(streamed.usage?.completion_tokens).toBe(whole.usage?.completion_tokens);
  });
});
