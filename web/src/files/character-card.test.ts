import { describe, expect, test } from 'vitest';
import { textOf } from '../story/story.ts';
import { counting } from '../story/testing/stories.ts';
import { cardOfPng, isCard, storyOfCard } from './character-card.ts';
import { base64, packed, pngOf, textChunk } from './testing/png.ts';

const first = {
  name: 'Ada',
  description: '{{char}} mends engines.',
  personality: 'dry',
  scenario: '<USER> visits {{Char}}.',
  first_mes: 'Come in, {{user}}.',
  mes_example: '<START>\n{{user}}: Hi.\n{{char}}: Hm.',
};
const second = {
  spec: 'chara_card_v2',
  spec_version: '2.0',
  data: {
    ...first,
    system_prompt: 'Stay in the scene. {{original}}',
    post_history_instructions: 'Be brief, {{char}}.',
    alternate_greetings: ['Who is it?', '', 7, 'You again,\n\n{{user}}.'],
    character_book: {
      entries: [
        {
          keys: ['engine'],
          secondary_keys: ['steam'],
          content: '{{char}} built it.',
          selective: true,
          insertion_order: 5,
          enabled: true,
        },
        { keys: ['x'], content: 'off', enabled: false, constant: true, name: 'Named' },
        'no entry',
      ],
    },
  },
};

const storyFrom = (card: unknown) => storyOfCard(card, counting(), 3);

describe('storyOfCard: version 1', () => {
  test('returns a chat with the greeting', () => {
    const story = storyFrom(first);
    expect(story).toMatchObject({ title: 'Ada', mode: 'chat', them: 'Ada', me: 'You', oneLine: true, changed: 3 });
    expect(story.passages.map(textOf)).toEqual(['Come in, You.']);
    expect(story.passages[0]?.by).toBe('model');
  });

  test('puts the description into memory, with names filled in', () => {
    expect(storyFrom(first).memory).toBe(
      "Ada mends engines.\n\nAda's personality: dry\n\nScenario: You visits Ada.\n\nExample dialogue:\n***\nYou: Hi.\nAda: Hm.\n***",
    );
  });

  test('accepts cards without a greeting or a name', () => {
    const story = storyFrom({ name: ' ', description: 'x' });
    expect(story).toMatchObject({ passages: [], them: 'Character', memory: 'x' });
  });
});

describe('storyOfCard: version 2 and 3', () => {
  const story = storyFrom(second);

  test('has alternate greetings as branches', () => {
    expect(story.passages[0]?.branches.map(({ text }) => text)).toEqual([
      'Come in, You.',
      'Who is it?',
      'You again,\n\nYou.',
    ]);
    expect(story.oneLine).toBe(false);
  });

  test('has its lorebook as world info', () => {
    expect(story.world).toMatchObject([
      {
        keys: ['engine'],
        secondaryKeys: ['steam'],
        content: 'Ada built it.',
        selective: true,
        order: 5,
        enabled: true,
      },
      { keys: ['x'], constant: true, enabled: false, comment: 'Named' },
      { keys: [], content: '' },
    ]);
  });

  test('keeps the system prompt and post-history instructions', () => {
    expect(story.memory.startsWith('Stay in the scene.\n\nAda mends')).toBe(true);
    expect(story.note).toMatchObject({ text: 'Be brief, Ada.' });
  });

  test('uses the nickname of version 3', () => {
    const third = { spec: 'chara_card_v3', data: { ...first, nickname: 'Addie' } };
    expect(storyFrom(third)).toMatchObject({ title: 'Ada', them: 'Addie' });
  });
});

test.each([
  [first, true],
  [second, true],
  [{ spec: 'chara_card_v3', data: {} }, true],
  [{ name: 'x' }, false],
  [{ memory: '', prompt: '' }, false],
  [null, false],
  [[], false],
])('%j is a card: %s', (value, expected) => {
  expect(isCard(value)).toBe(expected);
});

describe('cardOfPng', () => {
  test('reads Unicode text', () => {
    expect(cardOfPng(pngOf(textChunk('chara', packed({ name: 'Åsa', first_mes: '…' }))))).toEqual({
      name: 'Åsa',
      first_mes: '…',
    });
  });

  test('returns the newest version', () => {
    expect(cardOfPng(pngOf(textChunk('chara', packed(first)), textChunk('ccv3', packed(second))))).toEqual(second);
  });

  test.each([
    [pngOf(), 'This image contains no character card.'],
    [pngOf(textChunk('chara', '!!!')), 'The character card in this image is damaged.'],
    [pngOf(textChunk('chara', base64('{"name":'))), 'The character card in this image is damaged.'],
  ])('throws a readable error', (file, sentence) => {
    expect(() => cardOfPng(file)).toThrow(sentence);
  });
});
