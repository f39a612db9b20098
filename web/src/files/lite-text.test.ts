import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { textOf } from '../story/story.ts';
import { storyOfTexts } from '../story/testing/stories.ts';
import { textsOfStory, turnsOf } from './lite-text.ts';

const names = { me: 'Ann', them: 'Bea', others: ['Cy'] };
const line = fc
  .string({ minLength: 1, maxLength: 12, unit: fc.constantFrom('a', 'b', ' ', '.', '!', 'ü') })
  .map((text) => `x${text}x`);

describe('turnsOf', () => {
  test.each([
    [
      'adventure',
      '> You go.\nDark.',
      [
        ['person', 'You go.'],
        ['model', 'Dark.'],
      ],
    ],
    ['adventure', 'a > b', [['model', 'a > b']]],
    [
      'chat',
      'It rains.\nAnn: Hi.',
      [
        ['model', 'It rains.'],
        ['person', 'Hi.'],
      ],
    ],
    ['chat', 'Ann: Bea: is a name', [['person', 'Bea: is a name']]],
    ['chat', '', []],
    ['instruct', 'Loose words', [['model', 'Loose words']]],
    [
      'instruct',
      '{{[INPUT]}}a{{[INPUT_END]}}{{[OUTPUT]}}b{{[OUTPUT_END]}}',
      [
        ['person', 'a'],
        ['model', 'b'],
      ],
    ],
  ] as const)('of %s: %j holds %j', (mode, text, expected) => {
    expect(turnsOf(mode, text, names).map(({ by, text: said }) => [by, said])).toEqual(expected);
  });

  test('reads any text and returns no empty turns', () => {
    const mode = fc.constantFrom('adventure' as const, 'chat' as const, 'instruct' as const);
    const part = fc.constantFrom('> ', '\n', 'Ann:', 'Bea: ', '{{[INPUT]}}', '{{[OUTPUT]}}', 'word', ' ');
    fc.assert(
      fc.property(mode, fc.array(part, { maxLength: 30 }), (kind, parts) => {
        for (const { text } of turnsOf(kind, parts.join(''), names)) expect(text).not.toBe('');
      }),
    );
  });
});

test.each(['adventure', 'chat', 'instruct'] as const)('turns of %s are the same after they were one text', (mode) => {
  const turns = fc.array(fc.tuple(fc.boolean(), line), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(turns, (spoken) => {
      // In a save of tasks and adventures, two turns of the model in a row are one text.
      const told = spoken.filter(([mine], index) => mode === 'chat' || mine || index === 0 || spoken[index - 1]?.[0]);
      const story = storyOfTexts(
        told.map(([mine, text]) => (mine ? `me:${text}` : text)),
        { mode, me: 'Ann', them: 'Bea' },
      );
      const again = turnsOf(mode, textsOfStory(story).join(''), { me: 'Ann', them: 'Bea', others: [] });
      expect(again.map(({ by, text }) => [by, text])).toEqual(story.passages.map((one) => [one.by, textOf(one)]));
    }),
  );
});
