import { describe, expect, test } from 'vitest';
import { defaultNote, newEntry, newPassage, type Story, textOf } from '../story/story.ts';
import { counting, storyOfTexts } from '../story/testing/stories.ts';
import { isSave, saveOfStory, storyOfSave } from './lite-save.ts';

const save = {
  gamestarted: true,
  prompt: 'Once there was a fox.',
  memory: 'A fable.',
  authorsnote: 'short',
  anotetemplate: "[Author's note: <|>]",
  anotestr: 160,
  actions: [' It slept.', '\n\nThen it woke.'],
  actions_metadata: {},
  worldinfo: [
    {
      key: 'fox, vixen',
      keysecondary: 'den',
      keyanti: 'wolf',
      content: 'Red.',
      comment: 'The fox',
      folder: null,
      selective: true,
      constant: false,
      probability: 60,
      wigroup: 'animals',
      widisabled: false,
    },
  ],
  wifolders_d: {},
  wifolders_l: [],
  wisearchdepth: 1000,
  extrastopseq: 'THE END||$||###',
  savedsettings: { opmode: 1, temperature: 0.9, my_theme: 'dark' },
  documentdb_data: 'kept',
};

const read = (value: unknown): Story => storyOfSave(value, counting(), 5);
const texts = ({ passages }: Story) => passages.map((passage) => [passage.by, textOf(passage)]);
const withMode = (opmode: number, actions: string[], settings: object = {}) =>
  read({ gamestarted: true, prompt: actions[0], actions: actions.slice(1), savedsettings: { opmode, ...settings } });

describe('KoboldAI Lite save', () => {
  test('reads a story with all fields', () => {
    const story = read(save);
    expect(story).toMatchObject({
      mode: 'story',
      changed: 5,
      memory: 'A fable.',
      note: { text: 'short', depth: 160 },
      worldDepth: 1000,
      stops: ['THE END', '###'],
    });
    expect(story.passages.map(textOf)).toEqual(['Once there was a fox.', ' It slept.', '\n\nThen it woke.']);
    expect(story.world).toMatchObject([
      {
        keys: ['fox', 'vixen'],
        secondaryKeys: ['den'],
        excludedBy: ['wolf'],
        content: 'Red.',
        selective: true,
        enabled: true,
      },
    ]);
  });

  test('is written back unchanged, with unknown fields', () => {
    const written = saveOfStory(read(save)) as typeof save;
    expect(written).toMatchObject({ ...save, worldinfo: [{ ...save.worldinfo[0], key: 'fox,vixen' }] });
    expect(saveOfStory(read(written))).toEqual(written);
  });

  test('reads actions and narration of an adventure', () => {
    const story = withMode(2, ['You wake.', '\n\n> You look around.\n\n', 'A room.\n\nA door.', '\n> You leave.\n']);
    expect(story.mode).toBe('adventure');
    expect(texts(story)).toEqual([
      ['model', 'You wake.'],
      ['person', 'You look around.'],
      ['model', 'A room.\n\nA door.'],
      ['person', 'You leave.'],
    ]);
  });

  test('splits a chat by names', () => {
    const settings = { chatname: 'Ann', chatopponent: 'Bea||$||Cy' };
    const story = withMode(3, ['Bea: Hello.\nHow are you?', '\nAnn: Fine.\nBea:', ' Good.\nCy: Me too.'], settings);
    expect(story).toMatchObject({ mode: 'chat', me: 'Ann', them: 'Bea' });
    expect(texts(story)).toEqual([
      ['model', 'Hello.\nHow are you?'],
      ['person', 'Fine.'],
      ['model', 'Good.'],
      ['model', 'Me too.'],
    ]);
    expect(story.passages[3]?.name).toBe('Cy');
    expect(saveOfStory(story)).toMatchObject({ savedsettings: { chatopponent: 'Bea||$||Cy' } });
  });

  test('splits instruct text by the tags of any format', () => {
    const placeholders = withMode(4, ['', '\n{{[INPUT]}}\nAdd 1.\n{{[OUTPUT]}}\n', '2']);
    const marked = withMode(4, ['', '\n### Instruction:\nAdd 1.\n### Response:\n', '2'], {
      instruct_starttag: '\\n### Instruction:\\n',
      instruct_endtag: '\\n### Response:\\n',
    });
    for (const story of [placeholders, marked]) {
      expect(story.mode).toBe('instruct');
      expect(texts(story)).toEqual([
        ['person', 'Add 1.'],
        ['model', '2'],
      ]);
    }
  });

  test.each([{}, { prompt: {}, actions: 'x', worldinfo: {}, memory: [], savedsettings: null }, null, 'text'])(
    'with anything in it (%j) is at worst an empty story',
    (value) => {
      expect(read(value)).toMatchObject({ mode: 'story', passages: [], memory: '', note: defaultNote, world: [] });
    },
  );
});

describe('saveOfStory and storyOfSave', () => {
  const world = [
    newEntry({ id: 'w', keys: ['a'], content: 'b', constant: true, enabled: false, group: 'g', chance: 25 }),
  ];
  test.each(['story', 'adventure', 'chat', 'instruct'] as const)('is the same in %s', (mode) => {
    const fields = { mode, world, memory: 'm', stops: ['x'], me: 'Ann', them: 'Bea', title: 'T', oneLine: false };
    const story = storyOfTexts(
      ['Begin.', mode === 'chat' ? 'me:Go on.\nTwo lines.' : 'me:Go on.', 'Next.\n\nMore.'],
      fields,
    );
    const again = read(saveOfStory(story));
    expect(again).toMatchObject({
      ...fields,
      world: [{ keys: ['a'], content: 'b', constant: true, enabled: false, group: 'g', chance: 25 }],
    });
    expect(again.passages.map(textOf)).toEqual(story.passages.map(textOf));
    if (mode !== 'story') expect(texts(again)).toEqual(texts(story));
  });

  test('keep other speakers', () => {
    const story = storyOfTexts(['Hi.'], { mode: 'chat' });
    const other = { ...newPassage('z', 'model', 'Ho.'), name: 'Cy' };
    expect(read(saveOfStory({ ...story, passages: [...story.passages, other] })).passages[1]).toMatchObject({
      name: 'Cy',
    });
  });
});

test.each([
  [save, true],
  [{ prompt: '', memory: '' }, true],
  [{ actions: [], savedsettings: {} }, true],
  [{ prompt: 'x' }, false],
  [{}, false],
  [null, false],
])('%j is a save: %s', (value, expected) => {
  expect(isSave(value)).toBe(expected);
});
