import { describe, expect, test } from 'vitest';
import { type Message, text } from './messages.ts';
import { compileTemplate } from './template.ts';

interface Family {
  readonly family: string;
  /** How the template writes a turn of the assistant; `thought` is the field that it reads. */
  readonly template: string;
  /** What the model wrote: the thinking, its text and a call, or an answer. */
  readonly thought: (thought: string) => string;
  /** Whether the first turn's thinking is part of the second turn's prompt. */
  readonly next: 'kept' | 'dropped' | 'never shown';
  /** A client's variable that changes this. */
  readonly unless?: Readonly<Record<string, unknown>>;
}

/** A template with the rules of a family: `shows` is the condition for the thinking `t` of a turn. */
function family(
  name: string,
  {
    field,
    shows,
    next,
    unless,
    otherwise = '',
    think = ['<think>', '</think>'],
  }: {
    field: string;
    shows: string;
    next: Family['next'];
    unless?: Family['unless'];
    /** Written instead of thinking. */
    otherwise?: string;
    think?: readonly [string, string];
  },
): Family {
  const template = `
{%- set ns = namespace(last=0) -%}
{%- for m in messages -%}{%- if m.role == 'user' -%}{%- set ns.last = loop.index0 -%}{%- endif -%}{%- endfor -%}
{%- for m in messages -%}
  {{- '<' + m.role + '>' -}}
  {%- if m.role == 'assistant' -%}
    {%- set t = ${field} -%}
    {%- if t and (${shows}) -%}{{- '${think[0]}' + t + '${think[1]}' -}}{%- else -%}{{- '${otherwise}' -}}{%- endif -%}
  {%- endif -%}
  {{- m.content -}}
  {%- for c in m.tool_calls or [] -%}{{- '<call>' + c.function.name -}}{%- endfor -%}
  {{- '<end>' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<assistant>' -}}{%- endif -%}`;
  const thought = (words: string) => (next === 'never shown' ? otherwise : `${think[0]}${words}${think[1]}`);
  return { family: name, template, thought, next, ...(unless ? { unless } : {}) };
}

const inTurn = 'loop.index0 > ns.last';
const families: readonly Family[] = [
  family('Qwen3', { field: 'm.reasoning_content', shows: inTurn, next: 'dropped' }),
  family('GLM-4.7', {
    field: 'm.reasoning_content',
    shows: `(clear_thinking is defined and not clear_thinking) or ${inTurn}`,
    next: 'kept',
    unless: { clear_thinking: true },
    otherwise: '</think>',
  }),
  family('MiniMax-M3', { field: 'm.reasoning_content', shows: 'true', next: 'kept' }),
  family('Kimi-K2-Thinking', {
    field: 'm.reasoning_content',
    shows: inTurn,
    next: 'dropped',
    otherwise: '<think></think>',
  }),
  family('Kimi-K3', { field: 'm.reasoning_content or m.reasoning', shows: 'true', next: 'kept' }),
  family('DeepSeek-V3.1', { field: 'none', shows: 'false', next: 'never shown', otherwise: '</think>' }),
  family('DeepSeek-V4', {
    field: 'm.reasoning_content',
    shows: `tools or not (drop_thinking if drop_thinking is defined else true) or ${inTurn}`,
    next: 'kept',
    unless: { drop_thinking: true },
  }),
  family('Gemma 4', {
    field: 'm.reasoning or m.reasoning_content',
    shows: `m.tool_calls and ${inTurn}`,
    next: 'dropped',
    think: ['<|channel>thought', '<channel|>'],
  }),
  family('Nemotron 3 Nano', {
    field: 'm.reasoning_content',
    shows: `not (truncate_history_thinking if truncate_history_thinking is defined else true) or ${inTurn}`,
    next: 'kept',
    unless: { truncate_history_thinking: true },
    otherwise: '<think></think>',
  }),
  family('LFM2.5', {
    field: 'm.thinking',
    shows: `preserve_thinking or ${inTurn}`,
    next: 'kept',
    unless: { preserve_thinking: false },
  }),
  family('Laguna', {
    field: 'm.reasoning or m.reasoning_content',
    shows: `preserve_thinking or ${inTurn}`,
    next: 'kept',
    unless: { preserve_thinking: false },
  }),
  family('Hy3', {
    field: 'm.reasoning_content',
    shows: `tools or preserved_thinking or ${inTurn}`,
    next: 'kept',
    unless: { preserved_thinking: false },
  }),
  family('Solar Open', { field: 'm.reasoning', shows: inTurn, next: 'dropped' }),
];

const question: readonly Message[] = [
  { role: 'system', content: text('Be brief.') },
  { role: 'user', content: text('How is the sky?') },
];
const called: Message = {
  role: 'assistant',
  content: text('I look.'),
  reasoning: 'I should look.',
  toolCalls: [{ id: 'c1', name: 'look', json: '{}' }],
};
const result: Message = { role: 'tool', callId: 'c1', toolName: 'look', content: text('blue') };
const answered: Message = { role: 'assistant', content: text('Blue.'), reasoning: 'It is blue.' };
const second: Message = { role: 'user', content: text('Sure?') };

async function renderer(source: string) {
  const template = await compileTemplate(source);
  return (messages: readonly Message[], requestVariables = {}) =>
    template({
      conversation: { messages, media: [], tools: [] },
      continueAssistantTurn: true,
      serverVariables: {},
      requestVariables,
      reasoningEffort: undefined,
      now: new Date(2026, 1, 3),
    });
}

const withoutReasoning = (messages: readonly Message[]) =>
  messages.map((message) => {
    if (message.role !== 'assistant') return message;
    const { reasoning: _, ...rest } = message;
    return rest;
  });

describe.each(families)('reasoning sent back: $family', ({ template, thought, next, unless }) => {
  const wrote = `${thought('I should look.')}I look.<call>look`;
  const replied = `${thought('It is blue.')}Blue.`;
  const wholeChat = [...question, called, result, answered, second];

  test('inside a turn the prompt goes on where the reply ended', async () => {
    const render = await renderer(template);
    const { prompt, warnings } = render([...question, called, result]);
    expect(warnings).toEqual([]);
    expect(prompt.startsWith(render(question).prompt + wrote)).toBe(true);
  });

  test(`in the next turn it is ${next}`, async () => {
    const render = await renderer(template);
    const before = render([...question, called, result]).prompt;
    const { prompt } = render(wholeChat);
    expect(prompt.startsWith(before + replied)).toBe(next !== 'dropped');
    expect(prompt.includes('I should look.')).toBe(next === 'kept');
  });

  test.runIf(unless)('a variable of the client takes precedence', async () => {
    const render = await renderer(template);
    expect(render(wholeChat, unless).prompt).not.toContain('I should look.');
  });

  test('thinking that the client leaves out is not missed', async () => {
    const render = await renderer(template);
    const { prompt, warnings } = render(withoutReasoning(wholeChat));
    expect(warnings).toEqual([]);
    for (const words of ['I look.', 'blue', 'Blue.', 'Sure?']) expect(prompt).toContain(words);
  });
});

describe('reasoning sent back: other forms', () => {
  const harmony = `{%- for m in messages -%}
{%- if m.role == 'assistant' and m.tool_calls -%}
  {%- if m.content and m.thinking -%}{{ raise_exception('Not both.') }}{%- endif -%}
  {{- '<analysis>' + (m.thinking or m.content) + '<call>' + m.tool_calls[0].function.name -}}
{%- else -%}{{- '<' + m.role + '>' + m.content -}}{%- endif -%}{%- endfor -%}`;

  test('gpt-oss: thinking and text beside a call become one text', async () => {
    const render = await renderer(harmony);
    const { prompt, warnings } = render([...question, called, result]);
    expect([prompt, warnings]).toEqual([
      '<system>Be brief.<user>How is the sky?<analysis>I should look.\n\nI look.<call>look<tool>blue',
      [],
    ]);
    expect(render([...question, { ...called, content: [] }, result]).prompt).toContain(
      '<analysis>I should look.<call>',
    );
    expect(render(withoutReasoning([...question, called, result])).prompt).toContain('<analysis>I look.<call>');
  });

  test('Ministral 3: thinking is a part of the content', async () => {
    const render = await renderer(`{%- for m in messages -%}{{- '<' + m.role + '>' -}}
{%- if m.content is string -%}{{- m.content -}}{%- else -%}
{%- for p in m.content -%}{{- '[THINK]' + p.thinking + '[/THINK]' if p.type == 'thinking' else p.text -}}{%- endfor -%}
{%- endif -%}{%- endfor -%}`);
    expect(render([...question, answered, second]).prompt).toBe(
      '<system>Be brief.<user>How is the sky?<assistant>[THINK]It is blue.[/THINK]Blue.<user>Sure?',
    );
  });
});
