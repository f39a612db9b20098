import { describe, expect, test } from 'vitest';
import { AppError } from '../../core/errors.ts';
import { fold } from '../../core/fold.ts';
import { playedTools, textResult } from '../../core/testing/tool-servers.ts';
import { builtInAdapters, type ChatAdapter } from '../adapters/adapter.ts';
import { clearedResult } from '../compaction-plan.ts';
import type { Message } from '../messages.ts';
import type { ChatRequest } from '../request.ts';
import { chatService } from '../service.ts';
import { untimedTemplate } from '../testing/inline-template.ts';
import { chatRequest, scriptedText } from '../testing/scripted-text.ts';

const template = `{% if tools %}<tools>{{ tools | tojson }}</tools> <tool_call>{% endif %}{% for m in messages %} <|im_start|>{{ m.role }}
{{ m.content }}{% for c in m.tool_calls or [] %} <tool_call>{{ c.function | tojson }}</tool_call>{% endfor %}<|im_end|>
{% endfor %}<|im_start|>assistant
`;
const callOf = (name: string) => `<tool_call>\n{"name": "echo", "arguments": {"message": "${name}"}}\n</tool_call>`;

/** Each word is a token, and the context has 1000. */
const contextSize = 1000;

function world(replies: readonly string[], own: Partial<ChatRequest> & { readonly resultWords?: number } = {}) {
  const { resultWords = 75, ...changes } = own;
  const script = scriptedText(replies);
  const { servers } = playedTools(async ({ arguments: given }) => textResult(`${given?.message} `.repeat(resultWords)));
  let ids = 0;
  const chat = chatService({
    text: { ...script.service, contextSize: () => contextSize },
    tags: (builtInAdapters.ChatML as ChatAdapter).tags,
    tagsWithoutThinking: undefined,
    templateText: template,
    template: async () => untimedTemplate(template),
    templateUse: { chats: true, tools: true, listedTools: false },
    serverVariables: {},
    now: () => new Date(0),
    newCallId: () => `call_${++ids}`,
    warn: () => undefined,
    serverTools: { servers, turns: 20, now: () => new Date(0), startTimer: () => ({ cancel: () => {} }) },
  });
  const base = chatRequest('Say hi');
  const request = { ...base, controls: { ...base.controls, maxTokens: 100, overflow: 'compact' as const }, ...changes };
  const context = { genkey: '', client: 'test', signal: new AbortController().signal };
  return { ...script, reply: () => fold(chat.reply(request, context)) };
}

/** The results in a prompt, as the tool names them. */
const results = (prompt = ''): readonly string[] =>
  [...prompt.matchAll(/<\|im_start\|>tool\n(\S+)/g)].map(([, first = '']) => first);

const calls = (count: number, length = 9) =>
  'abcdefghijklmno'
    .slice(0, count)
    .split('')
    .map((name) => callOf(name.repeat(length)));

describe('answerWithTools: a chat that outgrows the context', () => {
  test('clears the oldest results, with a warning, and keeps every call with its result', async () => {
    const { reply, asked } = world([...calls(12), 'Done.']);
    const { text, warnings, usage } = await reply();
    expect(text).toBe('Done.');
    expect(warnings).toEqual([expect.stringMatching(/^The conversation was compacted: \d+ tool results cleared\.$/)]);
    const last = asked.at(-1)?.prompt ?? '';
    expect(results(last).at(-1)).toBe('l'.repeat(9));
    expect(last).toContain(clearedResult);
    expect(last.match(/<tool_call>\{/g)).toHaveLength(results(last).length);
    // Those of the last prompt, from which clients see how full the context is.
    expect(usage.promptTokens).toBe(10);
  });

  test('then summarises the middle; the summary has the tools of the chat in its prompt, and no part in the usage', async () => {
    const [first = '', ...more] = calls(5, 3);
    const replies = [first, ...more.slice(0, 3), 'They echoed letters.', more[3] ?? '', 'Done.'];
    const { reply, asked } = world(replies, { resultWords: 240 });
    const { text, warnings, usage } = await reply();
    expect(text).toBe('Done.');
    expect(warnings).toEqual([expect.stringContaining('messages summarised')]);
    const summary = asked.findIndex(({ prompt }) => prompt.includes('Summarise'));
    expect(asked[summary]?.prompt).toMatch(/^<tools>/);
    expect(asked[summary + 1]?.prompt).toContain('They echoed letters.');
    expect(results(asked.at(-1)?.prompt).at(-1)).toBe('eee');
    const written = (count: number, each: string) => Math.ceil(each.length / 3) * count;
    expect(usage.completionTokens).toBe(written(5, first) + written(1, 'Done.'));
  });

  test('also for a client that asked for a compaction of its own', async () => {
    const { reply } = world([...calls(12), 'Done.'], {
      controls: { ...chatRequest('').controls, maxTokens: 100, overflow: 'refuse' },
      compaction: { trigger: 150_000, pause: false },
    });
    expect((await reply()).warnings).toEqual([expect.stringContaining('tool results cleared')]);
  });

  test('applies the edits of the client after each round', async () => {
    const edit: ChatRequest['edit'] = async (request, count) => {
      expect(await count(request)).toBeGreaterThan(0);
      const { messages } = request.conversation;
      const shorter = messages.map((each): Message => (each.role === 'tool' ? { ...each, content: [] } : each));
      return { ...request, conversation: { ...request.conversation, messages: shorter } };
    };
    const { reply, asked } = world([callOf('aaa'), callOf('bbb'), 'Done.'], {
      controls: { ...chatRequest('').controls, maxTokens: 100, overflow: 'refuse' },
      edit,
    });
    expect((await reply()).warnings).toEqual([]);
    expect(asked.at(-1)?.prompt).not.toMatch(/aaa aaa|bbb bbb/);
  });

  test('one that cannot get small enough ends with an error that says so', async () => {
    const { reply } = world([callOf('aaa'), 'never'], {
      resultWords: 240,
      conversation: {
        messages: [{ role: 'user', content: [{ type: 'text', text: 'word '.repeat(800) }] }],
        media: [],
        tools: [],
      },
    });
    const error = await reply().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(AppError);
    expect(error).toMatchObject({ code: 'context-overflow' });
  });

  test('without --contextoverflow compact it is sent as it is', async () => {
    const { reply, asked } = world([...calls(12), 'Done.'], {
      controls: { ...chatRequest('').controls, maxTokens: 100, overflow: 'refuse' },
    });
    expect((await reply()).warnings).toEqual([]);
    expect(results(asked.at(-1)?.prompt)).toHaveLength(12);
  });
});
