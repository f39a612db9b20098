import { describe, expect, test } from 'vitest';
import { chatAdapter } from './adapters/adapter.ts';
import { type Message, text } from './messages.ts';
import { chatPrompt } from './prompt.ts';
import { compileTemplate, strftime, type TemplateInput } from './template.ts';
import { inlineLimits } from './template-limits.ts';
import { inlineTemplate } from './testing/inline-template.ts';

const user: Message = { role: 'user', content: text('Hi') };
const tool = { name: 'look', description: 'Looks', parameters: { type: 'object' } };

function input(messages: readonly Message[], rest: Partial<TemplateInput> = {}): TemplateInput {
  return {
    conversation: { messages, media: [], tools: [] },
    continueAssistantTurn: true,
    serverVariables: {},
    requestVariables: {},
    reasoningEffort: undefined,
    now: new Date(2026, 1, 3),
    ...rest,
  };
}

async function render(source: string, messages: readonly Message[] = [user], rest: Partial<TemplateInput> = {}) {
  return (await compileTemplate(source))(input(messages, rest));
}

const turns =
  '{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<reply>{% endif %}';

test('compileTemplate: renders turns and opens the reply', async () => {
  expect(await render(turns)).toEqual({ prompt: '<user>Hi<reply>', warnings: [] });
});

test('compileTemplate: removes lines that contain only a block', async () => {
  expect((await render('a\n  {% if true %}\nb\n  {% endif %}\nc')).prompt).toBe('a\nb\nc');
});

test('compileTemplate: ignores generation blocks', async () => {
  expect((await render('a{% generation %}b{% endgeneration %}c')).prompt).toBe('abc');
});

test('compileTemplate: bos_token and eos_token are empty', async () => {
  expect((await render('[{{ bos_token }}{{ eos_token }}]')).prompt).toBe('[]');
});

test('compileTemplate: raise_exception becomes a warning', async () => {
  expect(await render("a{{ raise_exception('Roles must alternate') }}b")).toEqual({
    prompt: 'ab',
    warnings: ['Roles must alternate'],
  });
});

test('strftime_now: the date of the request, in English', async () => {
  expect((await render("{{ strftime_now('%d %b %Y') }}")).prompt).toBe('03 Feb 2026');
});

test('tojson: does not escape non-ASCII letters', async () => {
  expect((await render("{{ {'a': 'é'} | tojson }}")).prompt).toBe('{"a": "é"}');
});

test('compileTemplate: appends a last assistant turn to the opened reply', async () => {
  const begun: Message = { role: 'assistant', content: text('Once') };
  expect((await render(turns, [user, begun])).prompt).toBe('<user>Hi<reply>Once');
  expect((await render(turns, [user, begun], { continueAssistantTurn: false })).prompt).toBe(
    '<user>Hi<assistant>Once<reply>',
  );
  expect((await render(turns, [user, { role: 'assistant', content: text(' ') }])).prompt).toBe(
    '<user>Hi<assistant> <reply>',
  );
});

describe('template variables', () => {
  const shown = '{{ a }}|{{ enable_thinking }}|{{ reasoning_effort }}|{{ reasoning_strength }}';

  test('those of the request take precedence over those of the server', async () => {
    const rest = { serverVariables: { a: 1 }, requestVariables: { a: 2 } };
    expect((await render(shown, [user], rest)).prompt).toBe('2|||');
  });

  test('include the reasoning effort', async () => {
    expect((await render(shown, [user], { reasoningEffort: 'high' })).prompt).toBe('||high|high');
  });

  test('disable thinking by either switch', async () => {
    const off = { reasoningEffort: 'high', requestVariables: { enable_thinking: false } };
    expect((await render(shown, [user], off)).prompt).toBe('|false|high|none');
    expect((await render(shown, [user], { reasoningEffort: 'none' })).prompt).toBe('|false|none|none');
  });

  test('cannot replace built-in names', async () => {
    const rest = { requestVariables: { namespace: 'x' } };
    expect((await render('{% set n = namespace(a=1) %}{{ n.a }}', [user], rest)).prompt).toBe('1');
  });

  test('have no tools if there are none', async () => {
    expect((await render('{% if tools is defined %}tools{% else %}none{% endif %}')).prompt).toBe('none');
  });
});

describe('template messages', () => {
  test('have earlier calls with parsed arguments', async () => {
    const call: Message = {
      role: 'assistant',
      content: [],
      toolCalls: [
        { id: 'call_1', name: 'look', json: '{"at":"sky"}' },
        { id: 'call_2', name: 'look', json: 'not json' },
      ],
    };
    const source =
      '{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}' +
      '{{ c.id }} {{ c.function.name }} {{ c.function.arguments | tojson }};{% endfor %}{% endfor %}';
    expect((await render(source, [call])).prompt).toBe('call_1 look {"at": "sky"};call_2 look "not json";');
  });

  test('have tool results with call ids, and earlier thinking', async () => {
    const messages: Message[] = [
      { role: 'assistant', content: text('Hm.'), reasoning: 'thought' },
      { role: 'tool', callId: 'c1', toolName: 'look', content: text('blue') },
    ];
    const source =
      '{% for m in messages %}{{ m.reasoning_content }}{{ m.tool_call_id }}{{ m.name }}{{ m.content }} {% endfor %}';
    expect((await render(source, messages)).prompt).toBe('thoughtHm. c1lookblue ');
  });

  test('have one text with numbered placeholders for media', async () => {
    const content = [
      { type: 'text', text: 'See' },
      { type: 'medium', index: 0 },
    ] as const;
    const conversation = {
      messages: [{ role: 'user', content } as const],
      media: [{ kind: 'image', base64: '' } as const],
      tools: [],
    };
    expect((await render(turns, [], { conversation })).prompt).toBe('<user>See\n(Attached Image 1)\n<reply>');
  });

  test('have content parts for templates that need them', async () => {
    const source =
      "{% for m in messages %}{% for p in m.content %}{% if p.type == 'text' %}{{ p.text }}{% endif %}{% endfor %}{% endfor %}";
    expect((await render(source)).prompt).toBe('Hi');
  });
});

describe('template language', () => {
  test.each([
    [
      'walks through a missing value as through an empty list',
      '[{% for t in tools %}x{% endfor %}{{ tools | length }}]',
      '[0]',
    ],
    [
      'lets lists grow and shrink',
      '{% set l = [1] %}{% set _ = l.append(2) %}{{ l.pop(0) }}{{ l[0] }}{{ l | length }}',
      '121',
    ],
    ['takes tuples apart', '{% for a, b in [(1, 2)] %}{{ a + b }}{% endfor %}', '3'],
    ['has its loop controls', '{% for i in range(9) %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}', '01'],
    ['leaves a missing value empty elsewhere', '[{{ nothing }}{% if nothing is defined %}x{% endif %}]', '[]'],
  ])('%s', async (_, source, prompt) => {
    expect((await render(source)).prompt).toBe(prompt);
  });
});

describe('template limits', () => {
  test.each([
    ['loops over too much', '{% for i in range(1000000000) %}x{% endfor %}', /too large/],
    [
      'nests loops',
      '{% for i in range(999) %}{% for j in range(999) %}{% set x = 1 %}{% endfor %}{% endfor %}',
      /does not come to an end/,
    ],
    [
      'doubles a text',
      "{% set n = namespace(s='x') %}{% for i in range(60) %}{% set n.s = n.s + n.s %}{% endfor %}",
      /too large/,
    ],
    [
      'doubles a list',
      '{% set n = namespace(s=[1]) %}{% for i in range(60) %}{% set n.s = n.s + n.s %}{% endfor %}',
      /too large/,
    ],
    [
      'lengthens a list for ever',
      '{% set l = [] %}{% for i in range(900) %}{% for j in range(900) %}{% set _ = l.append(j) %}{% endfor %}{% endfor %}',
      /too large|does not come to an end/,
    ],
    ['calls itself', '{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}', /./],
  ])('stops a template that %s', async (_, source, reason) => {
    const template = await compileTemplate(source, { limits: { ...inlineLimits, steps: 50_000 } });
    expect(() => template(input([user]))).toThrow(reason);
  });

  test('stops a template after its time limit', async () => {
    let now = 0;
    const clock = () => (now += 100);
    const template = await compileTemplate('{% for i in range(10000) %}x{% endfor %}', { clock });
    expect(() => template(input([user]))).toThrow(/does not come to an end/);
  });
});

describe('chatPrompt', () => {
  const { tags } = chatAdapter({ userStart: '<U>', assistantStart: '<A>' });
  const options = {
    ...input([user]),
    tags,
    stop: ['x'],
    template: undefined,
    templateUse: { chats: true, tools: false, listedTools: false },
  };

  test('uses the template if there is one', async () => {
    const template = inlineTemplate(await compileTemplate(turns));
    expect(await chatPrompt({ messages: [user], media: [], tools: [] }, { ...options, template })).toEqual({
      by: 'template',
      prompt: '<user>Hi<reply>',
      memory: '',
      stop: ['x'],
      warnings: [],
    });
  });

  test('uses the adapter for tools unless the template is used for them', async () => {
    const template = inlineTemplate(await compileTemplate('{{ tools[0].function.name }}: {{ messages[0].content }}'));
    const conversation = { messages: [user], media: [], tools: [tool] };
    expect((await chatPrompt(conversation, { ...options, template })).prompt).toBe('<U>Hi<A>');
    expect(
      (
        await chatPrompt(conversation, {
          ...options,
          template,
          templateUse: { chats: true, tools: true, listedTools: true },
        })
      ).prompt,
    ).toBe('look: Hi');
  });

  test('falls back to the adapter with a warning if the template fails', async () => {
    const template = inlineTemplate(await compileTemplate('{{ 1 | nosuchfilter }}'));
    const { by, prompt, warnings } = await chatPrompt(
      { messages: [user], media: [], tools: [] },
      { ...options, template },
    );
    expect({ by, prompt }).toEqual({ by: 'adapter', prompt: '<U>Hi<A>' });
    expect(warnings).toEqual([expect.stringMatching(/^The chat template failed, so the chat adapter is used/)]);
  });
});

test('compileTemplate: rejects invalid syntax', async () => {
  await expect(compileTemplate('{% if %}')).rejects.toThrow();
});

const time = new Date(2026, 1, 3, 15, 4, 5);

test.each([
  ['%Y-%m-%d', '2026-02-03'],
  ['%d %b %Y', '03 Feb 2026'],
  ['%B %-d, %Y', 'February 3, 2026'],
  ['%A %H:%M:%S', 'Tuesday 15:04:05'],
  ['%I:%M %p', '03:04 PM'],
  ['day %j', 'day 034'],
  ['100%% %Q', '100% %Q'],
])('strftime: %s is written %s', (format, written) => {
  expect(strftime(time, format)).toBe(written);
});
