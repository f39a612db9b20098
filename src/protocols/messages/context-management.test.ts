import { describe, expect, test } from 'vitest';
import { clearedResult } from '../../chat/compaction-plan.ts';
import { type Message, plainText, text } from '../../chat/messages.ts';
import type { ChatRequest } from '../../chat/request.ts';
import { chatRequest } from '../../chat/testing/scripted-text.ts';
import { applyEdits, readContextManagement } from './context-management.ts';

const user = (words: string): Message => ({ role: 'user', content: text(words) });
const used = (id: string, name: string, result: string): readonly Message[] => [
  { role: 'assistant', content: [], reasoning: `think ${id}`, toolCalls: [{ id, name, json: '{"path":"/a"}' }] },
  { role: 'tool', content: text(result), callId: id, toolName: name },
];
const messages: readonly Message[] = [
  user('go'),
  ...used('1', 'read', 'a'.repeat(100)),
  ...used('2', 'memory', 'b'.repeat(100)),
  user('on'),
  ...used('3', 'read', 'c'.repeat(100)),
  ...used('4', 'read', 'd'.repeat(100)),
];

/** Each character of a message is a token. */
const count = async ({ conversation }: ChatRequest): Promise<number> =>
  conversation.messages.reduce(
    (sum, each) =>
      sum + plainText(each.content).length + (each.role === 'assistant' ? (each.reasoning ?? '').length : 0),
    0,
  );

async function edit(...edits: readonly object[]) {
  const request = chatRequest('', { conversation: { messages, media: [], tools: [] } });
  const management = readContextManagement({ edits }, 'context_management');
  const { request: after, applied } = await applyEdits(request, management, count);
  const shown = after.conversation.messages;
  return {
    applied,
    untouched: after === request,
    results: shown.flatMap((each) => (each.role === 'tool' ? [plainText(each.content)] : [])),
    inputs: shown.flatMap((each) => (each.role === 'assistant' ? (each.toolCalls ?? []).map(({ json }) => json) : [])),
    thoughts: shown.flatMap((each) => (each.role === 'assistant' ? [each.reasoning] : [])),
  };
}

const tools = (own: object): object => ({
  type: 'clear_tool_uses_20250919',
  trigger: { type: 'input_tokens', value: 50 },
  ...own,
});

describe('clear_tool_uses_20250919', () => {
  test('replaces all results but the last ones, and reports the tokens', async () => {
    const { results, applied, inputs } = await edit(tools({ keep: { type: 'tool_uses', value: 2 } }));
    expect(results).toEqual([clearedResult, clearedResult, 'c'.repeat(100), 'd'.repeat(100)]);
    const cleared = 200 - 2 * clearedResult.length;
    expect(applied).toEqual([
      { type: 'clear_tool_uses_20250919', cleared_tool_uses: 2, cleared_input_tokens: cleared },
    ]);
    expect(new Set(inputs)).toEqual(new Set(['{"path":"/a"}']));
  });

  test('by default keeps three results, and waits for 100,000 tokens', async () => {
    expect((await edit(tools({}))).applied).toMatchObject([{ cleared_tool_uses: 1 }]);
    expect(await edit({ type: 'clear_tool_uses_20250919' })).toMatchObject({ untouched: true, applied: [] });
  });

  test('the trigger can be a number of tool uses', async () => {
    const trigger = (value: number) => ({ trigger: { type: 'tool_uses', value } });
    expect((await edit(tools(trigger(3)))).applied).toHaveLength(1);
    expect((await edit(tools(trigger(4)))).applied).toEqual([]);
  });

  test('keeps the results of excluded tools', async () => {
    const { results } = await edit(tools({ keep: { type: 'tool_uses', value: 0 }, exclude_tools: ['memory'] }));
    expect(results).toEqual([clearedResult, 'b'.repeat(100), clearedResult, clearedResult]);
  });

  test('clear_at_least: clears nothing if less could be cleared', async () => {
    const atLeast = (value: number) => ({ clear_at_least: { type: 'input_tokens', value } });
    expect((await edit(tools(atLeast(90)))).untouched).toBe(true);
    expect((await edit(tools(atLeast(5)))).untouched).toBe(false);
  });

  test.each([
    [true, ['{}', '{}', '{}', '{}']],
    [['memory'], ['{"path":"/a"}', '{}', '{"path":"/a"}', '{"path":"/a"}']],
  ])('clear_tool_inputs %j', async (clear, inputs) => {
    const keep = { type: 'tool_uses', value: 0 };
    expect((await edit(tools({ keep, clear_tool_inputs: clear }))).inputs).toEqual(inputs);
  });
});

describe('clear_thinking_20251015', () => {
  const thinking = (own: object = {}) => edit({ type: 'clear_thinking_20251015', ...own });

  test('keeps the thinking of the last turn', async () => {
    const { thoughts, applied } = await thinking();
    expect(thoughts).toEqual([undefined, undefined, 'think 3', 'think 4']);
    expect(applied).toEqual([{ type: 'clear_thinking_20251015', cleared_thinking_turns: 1, cleared_input_tokens: 14 }]);
  });

  test.each(['all', { type: 'all' }, { type: 'thinking_turns', value: 2 }])(
    'keep %j: nothing changes',
    async (keep) => {
      expect(await thinking({ keep })).toMatchObject({ untouched: true, applied: [] });
    },
  );
});

test('edits are applied one after the other', async () => {
  const { applied } = await edit({ type: 'clear_thinking_20251015' }, tools({}));
  expect(applied.map(({ type }) => type)).toEqual(['clear_thinking_20251015', 'clear_tool_uses_20250919']);
});

test.each<[object, string]>([
  [{ type: 'clear_everything' }, 'context_management.edits[0].type must be'],
  [tools({ trigger: { type: 'messages', value: 3 } }), 'context_management.edits[0].trigger.type must be'],
  [tools({ trigger: { type: 'input_tokens', value: -1 } }), 'context_management.edits[0].trigger.value must be'],
  [tools({ keep: 3 }), 'context_management.edits[0].keep must be an object.'],
  [tools({ clear_tool_inputs: 'all' }), 'context_management.edits[0].clear_tool_inputs must be'],
  [{ type: 'clear_thinking_20251015', keep: 'none' }, 'context_management.edits[0].keep must be an object.'],
  [{ type: 'compact_20260112', trigger: 5 }, 'context_management.edits[0].trigger must be an object.'],
])('%j is refused', (sent, message) => {
  expect(() => readContextManagement({ edits: [sent] }, 'context_management')).toThrow(message);
});
