import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { chatAdapter } from './adapters/adapter.ts';
import { type Message, text } from './messages.ts';
import { chatPrompt } from './prompt.ts';
import { compileTemplate } from './template.ts';
import { inlineLimits } from './template-limits.ts';
import { inlineTemplate } from './testing/inline-template.ts';

/** Templates come with models and are untrusted: with any content, a chat is answered without side effects. */
const names = fc.constantFrom(
  'messages',
  'm',
  'm.content',
  'tools',
  'bos_token',
  'x',
  'loop.index',
  'ns.a',
  'none',
  '[]',
);
const literals = fc.constantFrom("'a'", '1', '-1', '1e308', 'true', '{}', '[1, 2]', "'\\ud800'", '"" ', '0.1');
const filters = fc.constantFrom(
  'length',
  'tojson',
  'upper',
  'trim',
  'first',
  'nosuch',
  'join',
  'sort',
  'list',
  'safe',
  'int',
);
const term = fc.oneof(names, literals);
const expression = fc.oneof(
  term,
  fc.tuple(term, filters).map(([one, filter]) => `${one} | ${filter}`),
  fc
    .tuple(term, fc.constantFrom('+', '-', '*', '/', '~', '==', 'in', 'and', '%', '//', '**'), term)
    .map(([one, sign, other]) => `${one} ${sign} ${other}`),
  fc.tuple(term, term).map(([one, other]) => `${one}[${other}]`),
  term.map((one) => `range(${one})`),
  term.map((one) => `raise_exception(${one})`),
  term.map((one) => `strftime_now(${one})`),
  fc.constantFrom('messages[-1:]', 'messages.append(messages)', 'messages.pop()', "'x' * 99999999", 'namespace(a=1)'),
  fc.constantFrom('__proto__', 'm.constructor', "m['__proto__']", 'messages.constructor.constructor("return 1")()'),
);
const { template } = fc.letrec<{ template: string; part: string }>((tie) => ({
  template: fc.array(tie('part'), { maxLength: 5 }).map((parts) => parts.join('')),
  part: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom('text', '\n', '{# note #}', '{%', '}}', '{{', '{% endif %}', '{% else %}', '{% break %}'),
    expression.map((one) => `{{ ${one} }}`),
    expression.map((one) => `{% set x = ${one} %}`),
    fc.tuple(expression, tie('template')).map(([one, body]) => `{% for m in ${one} %}${body}{% endfor %}`),
    fc.tuple(expression, tie('template')).map(([one, body]) => `{% if ${one} %}${body}{% endif %}`),
    fc
      .tuple(names, tie('template'))
      .map(([one, body]) => `{% macro f(a) %}${body}{{ f(${one}) }}{% endmacro %}{{ f(1) }}`),
    tie('template').map((body) => `{% filter upper %}${body}{% endfilter %}`),
  ),
}));

const { tags } = chatAdapter({ userStart: '<U>', assistantStart: '<A>' });
const messages: readonly Message[] = [
  { role: 'system', content: text('Be brief.') },
  { role: 'user', content: text('Hi') },
  { role: 'assistant', content: [], toolCalls: [{ id: 'c', name: 'f', json: '{"a":1}' }] },
  { role: 'tool', content: text('sunny'), callId: 'c' },
];

async function ask(source: string) {
  // Each look at the clock is a millisecond, so that the same template ends at the same place everywhere.
  let time = 0;
  const limits = { ...inlineLimits, steps: 20_000, characters: 100_000, items: 1000 };
  const compiled = await compileTemplate(source, { limits, clock: () => ++time });
  return chatPrompt(
    { messages, media: [], tools: [] },
    {
      tags,
      template: inlineTemplate(compiled),
      templateUse: { chats: true, tools: true, listedTools: true },
      continueAssistantTurn: true,
      stop: [],
      serverVariables: {},
      requestVariables: {},
      reasoningEffort: undefined,
      now: new Date(0),
    },
  );
}

describe('random templates', () => {
  test('chatPrompt: has every turn, and a warning for each problem', () =>
    fc.assert(
      fc.asyncProperty(template, async (source) => {
        const refused = await compileTemplate(source).then(
          () => undefined,
          (error: unknown) => error,
        );
        if (refused !== undefined) {
          expect(refused).toBeInstanceOf(Error);
          expect((refused as Error).message).not.toBe('');
          return;
        }
        const { by, prompt, warnings } = await ask(source);
        for (const told of warnings) expect(told).toMatch(/^The chat template (failed|says)/);
        if (by === 'adapter') expect([prompt, warnings.length]).toEqual([expect.stringContaining('<U>Hi'), 1]);
        else expect(prompt).toContain('sunny');
        expect(({} as Record<string, unknown>).polluted).toBeUndefined();
      }),
      { numRuns: 200 },
    ));

  test.each([
    [
      'loops in loops',
      '{% for a in range(900) %}{% for b in range(900) %}{% for c in range(900) %}{% endfor %}{% endfor %}{% endfor %}',
    ],
    ['a macro that calls itself', '{% macro f(a) %}{{ f(a) }}{% endmacro %}{{ f(1) }}'],
    [
      'a text that doubles',
      "{% set ns = namespace(t='x') %}{% for a in range(99) %}{% set ns.t = ns.t + ns.t %}{% endfor %}",
    ],
    ['a list that holds itself', '{{ messages.append(messages) }}{{ messages | tojson }}'],
    ['a list without an end', '{% for m in messages %}{{ messages.append(m) }}{% endfor %}'],
    ['a range without an end', '{% for a in range(1e308) %}{% endfor %}'],
    ['very deep brackets', `{{ ${'('.repeat(5000)}1${')'.repeat(5000)} }}`],
    ['very many blocks', '{% if true %}'.repeat(3000) + '{% endif %}'.repeat(3000)],
  ])('%s: rendering ends', async (_, source) => {
    const { by, prompt } = await ask(source).catch((error: unknown) => {
      expect((error as Error).message).not.toBe('');
      return { by: 'adapter', prompt: '<U>Hi' };
    });
    expect([by, prompt]).toEqual(['adapter', expect.stringContaining('<U>Hi')]);
  });
});
