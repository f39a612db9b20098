import { describe, expect, test } from 'vitest';
import { counting } from '../story/testing/stories.ts';
import { cardOf, cardOfPng, characterOfCard, isCard, pictureOfPng, pngWithCard } from './character-card.ts';
import { pngTexts } from './png-text.ts';
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

describe('characterOfCard', () => {
  test('reads a card of version 1', () => {
    expect(characterOfCard(first, counting(), 3)).toMatchObject({
      name: 'Ada',
      personality: 'dry',
      greetings: ['Come in, {{user}}.'],
    });
  });

  test('accepts cards without a greeting or a name', () => {
    const card = { name: ' ', description: 'x' };
    expect(characterOfCard(card, counting(), 3)).toMatchObject({ greetings: [], name: 'Character', description: 'x' });
  });

  test('has its lorebook as world info', () => {
    expect(characterOfCard(second, counting(), 3).world).toMatchObject([
      {
        keys: ['engine'],
        secondaryKeys: ['steam'],
        content: '{{char}} built it.',
        selective: true,
        order: 5,
        enabled: true,
      },
      { keys: ['x'], constant: true, enabled: false, comment: 'Named' },
      { keys: [], content: '' },
    ]);
  });

  test('has the nickname of version 3', () => {
    const third = { spec: 'chara_card_v3', data: { ...first, nickname: 'Addie' } };
    expect(characterOfCard(third, counting(), 3)).toMatchObject({ name: 'Ada', nickname: 'Addie' });
  });

  test('keeps macros and reads all fields of version 2', () => {
    const card = {
      ...second,
      data: {
        ...second.data,
        creator_notes: 'Mine.',
        tags: ['steam'],
        creator: 'Someone',
        extensions: { depth_prompt: { prompt: 'Rain.', depth: 2, role: 'user' }, talkativeness: '0.5' },
      },
    };
    expect(characterOfCard(card, counting(), 3)).toMatchObject({
      name: 'Ada',
      changedAt: 3,
      description: '{{char}} mends engines.',
      scenario: '<USER> visits {{Char}}.',
      greetings: ['Come in, {{user}}.', 'Who is it?', 'You again,\n\n{{user}}.'],
      examples: '<START>\n{{user}}: Hi.\n{{char}}: Hm.',
      system: 'Stay in the scene. {{original}}',
      afterMessages: 'Be brief, {{char}}.',
      depthPrompt: { text: 'Rain.', depth: 2, role: 'user' },
      creatorNotes: 'Mine.',
      tags: ['steam'],
      world: [{ keys: ['engine'], content: '{{char}} built it.' }, { enabled: false }, {}],
      foreign: { creator: 'Someone', extensions: { talkativeness: '0.5' } },
    });
  });

  test('reads the picture of a data URL', () => {
    const picture = characterOfCard(
      { spec: 'chara_card_v3', data: { assets: [{ type: 'icon', uri: 'data:image/png;base64,AQI=', name: 'main' }] } },
      counting(),
      1,
    ).picture;
    expect([picture?.type, picture?.size]).toEqual(['image/png', 2]);
  });

  test('is written as version 3 with foreign fields, and read again', () => {
    const card = { ...second, data: { ...second.data, assets: [], extensions: { fav: true } } };
    const character = { ...characterOfCard(card, counting(), 3), voice: 'alto', narratorVoice: 'bass' };
    const written = cardOf(character);
    expect(written).toMatchObject({
      spec: 'chara_card_v3',
      spec_version: '3.0',
      data: {
        ...first,
        assets: [],
        extensions: { fav: true },
        character_book: { entries: [{ keys: ['engine'] }, {}, {}] },
      },
    });
    const again = characterOfCard(written, counting(), 3);
    expect(again).toMatchObject({
      greetings: character.greetings,
      voice: 'alto',
      narratorVoice: 'bass',
      system: character.system,
    });
  });

  test('is written into a picture for programs of both versions', () => {
    const character = characterOfCard(first, counting(), 3);
    const file = pngWithCard(pngOf(textChunk('Software', 'x'), textChunk('chara', 'old')), character);
    expect(cardOfPng(file)).toEqual(cardOf(character));
    expect([...pngTexts(file).keys()]).toEqual(['software', 'chara', 'ccv3']);
  });
});

test('pictureOfPng: has no card', async () => {
  const picture = pictureOfPng(pngOf(textChunk('chara', packed(first)), textChunk('Software', 'x')));
  expect([...pngTexts(new Uint8Array(await picture.arrayBuffer())).keys()]).toEqual(['software']);
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

  test('returns undefined for a picture without a card', () => {
    expect(cardOfPng(pngOf())).toBeUndefined();
  });

  test.each([
    [pngOf(textChunk('chara', '!!!')), 'The character card in this image is damaged.'],
    [pngOf(textChunk('chara', base64('{"name":'))), 'The character card in this image is damaged.'],
  ])('throws a readable error', (file, sentence) => {
    expect(() => cardOfPng(file)).toThrow(sentence);
  });
});
