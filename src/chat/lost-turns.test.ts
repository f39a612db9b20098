import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { foldedWarning, foldTurns, renderAll, TextFinder } from './lost-turns.ts';
import { type Conversation, type Message, plainText, text } from './messages.ts';
import { compileTemplate } from './template.ts';

const turn = (role: 'system' | 'user' | 'assistant', words: string): Message => ({ role, content: text(words) });
const talk = (...messages: Message[]): Conversation => ({ messages, media: [], tools: [] });

/** A letter for each turn: s, u, a. */
const spelled = (letters: string): Conversation =>
  talk(
    ...[...letters].map((letter, index) =>
      turn(letter === 's' ? 'system' : letter === 'u' ? 'user' : 'assistant', `${letter}${index}`),
    ),
  );

describe('foldTurns', () => {
  test.each([
    ['su', [0], ['user s0 u1']],
    ['ususa', [1, 3], ['user u0', 'user s1 u2 s3', 'assistant a4']],
    ['uasu', [2], ['user u0', 'assistant a1', 'user s2 u3']],
    ['usa', [1], ['user u0 s1', 'assistant a2']],
    ['us', [1], ['user u0 s1']],
    ['sa', [0], ['user s0', 'assistant a1']],
    ['asa', [1], ['assistant a0', 'user s1', 'assistant a2']],
    ['ssu', [0, 1], ['user s0 s1 u2']],
    ['s', [0], ['user s0']],
    ['ssu', [1], ['system s0', 'user s1 u2']],
  ])('%s without %j becomes %j', (letters, places, expected) => {
    const { messages } = foldTurns(spelled(letters), new Set(places));
    expect(messages.map(({ role, content }) => `${role} ${plainText(content).replaceAll('\n\n', ' ')}`)).toEqual(
      expected,
    );
  });
});

async function render(template: string, conversation: Conversation) {
  return renderAll(await compileTemplate(template), {
    conversation,
    continueAssistantTurn: true,
    serverVariables: {},
    requestVariables: {},
    reasoningEffort: undefined,
    now: new Date(0),
  });
}

const each = (body: string): string => `{% for m in messages %}${body}{% endfor %}`;
const plain = each('[{{ m.role }}: {{ m.content }}]');
const silent = each("{% if m.role in ['user', 'assistant'] %}[{{ m.role }}: {{ m.content }}]{% endif %}");
const firstOnly = each(
  "{% if m.role != 'system' or loop.first %}[{{ m.role }}: {{ m.content }}]{% else %}{{ raise_exception('late') }}{% endif %}",
);
const complaining = each(
  "{% if m.role == 'system' %}{{ raise_exception('no system') }}{% endif %}[{{ m.role }}: {{ m.content }}]",
);
const asData = each('[{{ m.role }}: {{ m.content | tojson }}]');
const question = talk(
  turn('system', 'Be "brief".'),
  turn('user', 'Hi'),
  turn('assistant', 'Yo'),
  turn('system', 'Now'),
);
const folded = '[user: Be "brief".\n\nHi][assistant: Yo][user: Now]';

describe('renderAll', () => {
  test('a template that leaves out a user turn is refused; one that writes it in another way is not', async () => {
    const lastOnly = each("{% if m.role != 'user' or loop.last %}[{{ m.content }}]{% endif %}");
    await expect(render(lastOnly, spelled('uau'))).rejects.toThrow('it leaves out a user turn');
    const quoted = (await render(asData, talk(turn('user', 'a "b"')))).prompt;
    expect(quoted).toBe('[user: "a \\"b\\""]');
  });

  test.each([
    ['that knows system turns', plain, '[system: Be "brief".][user: Hi][assistant: Yo][system: Now]', []],
    ['that writes them in another way', asData, undefined, []],
    ['that passes over them', silent, folded, [foldedWarning]],
    ['that complains and shows them', complaining, folded, [foldedWarning]],
    ['that refuses late ones', firstOnly, undefined, [foldedWarning]],
  ])('%s: loses no turn', async (_, template, prompt, warnings) => {
    const rendered = await render(template, question);
    expect(rendered.warnings).toEqual(warnings);
    if (prompt !== undefined) expect(rendered.prompt).toBe(prompt);
    for (const words of ['brief', 'Now']) expect(rendered.prompt).toContain(words);
  });

  test('keeps the first rendering if the warning concerns something else', async () => {
    const template = `${plain}{{ raise_exception('always') }}`;
    expect(await render(template, question)).toMatchObject({ warnings: ['always'] });
  });

  test('throws if a template shows nothing or omits a tool result', async () => {
    await expect(render('Hello', question)).rejects.toThrow('leaves out a user turn');
    const result: Message = { role: 'tool', content: text('blue') };
    await expect(render(silent, talk(turn('user', 'Hi'), result))).rejects.toThrow('leaves out tool results');
  });
});

describe('TextFinder', () => {
  test('finds exactly the texts that occur, in any order', () =>
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('a', 'b', ' '), maxLength: 60 }),
        fc.array(fc.string({ unit: fc.constantFrom('a', 'b', ' '), maxLength: 5 }), { maxLength: 12 }),
        (text, wanted) => {
          const finder = new TextFinder(text);
          expect(wanted.map((one) => finder.has(one))).toEqual(wanted.map((one) => text.includes(one)));
        },
      ),
    ));

  test('texts in order cost one pass, whatever their number', () => {
    const wanted = Array.from({ length: 10_000 }, (_, index) => `<${index}>`);
    const text = wanted.join(' and ');
    const finder = new TextFinder(text);
    const before = finder.left;
    expect(wanted.every((one) => finder.has(one))).toBe(true);
    expect(before - finder.left).toBeLessThanOrEqual(text.length);
  });

  test('finds nothing after its budget is spent', () => {
    const text = 'x'.repeat(1000);
    const finder = new TextFinder(text);
    let asked = 0;
    while (finder.left >= 0) {
      expect(finder.has('y')).toBe(false);
      asked++;
    }
    expect(asked).toBeLessThan(40);
    expect(finder.has('x')).toBe(false);
  });
});
