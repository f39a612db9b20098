import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { buildPrompt } from './prompt.ts';
import { type Mode, modes, newEntry } from './story.ts';
import { storyOfTexts } from './testing/stories.ts';

const plenty = { tokens: Number.POSITIVE_INFINITY, charactersPerToken: 4 };
const room = (characters: number) => ({ tokens: characters, charactersPerToken: 1 });

describe('buildPrompt: everything fits', () => {
  test.each([
    ['story', 'He ran.me', ''],
    ['adventure', 'He ran.\n\n> me\n\n', ''],
    ['chat', 'Parley: He ran.\nYou: me\nParley:', ''],
    ['instruct', '{{[OUTPUT]}}He ran.{{[OUTPUT_END]}}{{[INPUT]}}me{{[INPUT_END]}}{{[OUTPUT]}}', ''],
  ] as const)('the prompt of %s is its text with the replyPrefix for the model', (mode, prompt, memory) => {
    const built = buildPrompt(storyOfTexts(['He ran.', 'me:me'], { mode }), plenty);
    expect(built).toMatchObject({ prompt, memory, dropped: 0, leftOut: [] });
    expect(built.seenFrom).toBeUndefined();
  });

  test('returns memory and world info apart from the text', () => {
    const world = [
      newEntry({ id: '1', keys: ['door'], content: 'The door is red.', order: 2 }),
      newEntry({ id: '2', keys: ['window'], content: 'No window.' }),
      newEntry({ id: '3', constant: true, content: 'It is night.', order: 1 }),
    ];
    const built = buildPrompt(storyOfTexts(['A Door.'], { memory: 'A house.', world }), plenty);
    expect(built.memory).toBe('A house.\nIt is night.\nThe door is red.\n');
    expect(built.prompt).toBe('A Door.');
    expect(built.world.map(({ id }) => id)).toEqual(['3', '1']);
    expect(built.parts).toEqual({ memory: 8, world: 29, note: 0, text: 7 });
  });

  test('sends memory as the system prompt in instruct mode', () => {
    const { memory } = buildPrompt(storyOfTexts(['me:hi'], { mode: 'instruct', memory: 'Be brief.' }), plenty);
    expect(memory).toBe('{{[SYSTEM]}}Be brief.{{[SYSTEM_END]}}');
  });

  test('finds keys in memory, note and prefill', () => {
    const world = [newEntry({ id: '1', keys: ['fox'], content: 'Foxes talk.' })];
    const note = { text: 'a fox', template: '[<|>]', depth: 0 };
    expect(buildPrompt(storyOfTexts(['x'], { world, memory: 'The fox.' }), plenty).world).toHaveLength(1);
    expect(buildPrompt(storyOfTexts(['x'], { world, note }), plenty).world).toHaveLength(1);
    expect(buildPrompt(storyOfTexts(['x'], { world }), plenty, { kind: 'new', begin: 'A fox' }).world).toHaveLength(1);
    expect(buildPrompt(storyOfTexts(['x'], { world }), plenty).world).toEqual([]);
  });

  test('searches keys only within the depth of the story', () => {
    const world = [newEntry({ id: '1', keys: ['fox'], content: 'Foxes talk.' })];
    const texts = ['A fox. ', 'And so on for long.'];
    expect(buildPrompt(storyOfTexts(texts, { world, worldDepth: 10 }), plenty).world).toEqual([]);
    expect(buildPrompt(storyOfTexts(texts, { world, worldDepth: 100 }), plenty).world).toHaveLength(1);
  });
});

describe('buildPrompt: reply', () => {
  test('starts with the prefill', () => {
    const chat = storyOfTexts(['me:Hi.'], { mode: 'chat' });
    expect(buildPrompt(chat, plenty, { kind: 'new', begin: 'Well' }).prompt).toBe('You: Hi.\nParley: Well');
    const story = storyOfTexts(['It was.']);
    expect(buildPrompt(story, plenty, { kind: 'new', begin: ' Then' }).prompt).toBe('It was. Then');
    const task = storyOfTexts(['me:Hi.'], { mode: 'instruct' });
    expect(buildPrompt(task, plenty, { kind: 'new', begin: 'Sure' }).prompt).toMatch(/\{\{\[OUTPUT\]\}\}Sure$/);
  });

  test('continues the last passage without its end token', () => {
    const task = storyOfTexts(['me:Hi.', 'Well, I'], { mode: 'instruct' });
    const { prompt } = buildPrompt(task, plenty, { kind: 'more' });
    expect(prompt).toBe('{{[INPUT]}}Hi.{{[INPUT_END]}}{{[OUTPUT]}}Well, I');
  });

  test('has an empty prompt for the first text', () => {
    expect(buildPrompt(storyOfTexts([], { mode: 'chat' }), plenty).prompt).toBe('Parley:');
    expect(buildPrompt(storyOfTexts([]), plenty, { kind: 'more' }).prompt).toBe('');
  });
});

describe("the author's note", () => {
  const note = { text: 'dark', template: '[Note: <|>]', depth: 10 };

  test('is inserted at its depth, between two lines', () => {
    const story = storyOfTexts(['One line.\nAnother line.\nThe last line of all.'], { note });
    const { prompt } = buildPrompt(story, { tokens: 1000, charactersPerToken: 1 });
    expect(prompt).toBe('One line.\nAnother line.\n[Note: dark]\nThe last line of all.');
  });

  test('is inserted at the start of a shorter text', () => {
    expect(buildPrompt(storyOfTexts(['Short.'], { note }), plenty).prompt).toBe('[Note: dark]\nShort.');
  });

  test('uses the measured token length', () => {
    const story = storyOfTexts(['a\n'.repeat(100)], { note });
    const at = buildPrompt(story, { tokens: 1000, charactersPerToken: 4 }).prompt.indexOf('[Note');
    expect(at).toBe(200 - 40);
  });

  test.each([
    ['chat', 'Parley: One.\n[Note: dark]\nYou: Two, and more.\nParley:'],
    [
      'instruct',
      '{{[OUTPUT]}}One.{{[OUTPUT_END]}}{{[SYSTEM]}}[Note: dark]{{[SYSTEM_END]}}{{[INPUT]}}Two, and more.{{[INPUT_END]}}{{[OUTPUT]}}',
    ],
  ] as const)('stands between two turns in %s', (mode, prompt) => {
    const story = storyOfTexts(['One.', 'me:Two, and more.'], { mode, note });
    expect(buildPrompt(story, { tokens: 1000, charactersPerToken: 1 }).prompt).toBe(prompt);
  });

  test('works without a template and with special characters', () => {
    const plain = storyOfTexts(['x'], { note: { text: '$& dark', template: '', depth: 9 } });
    expect(buildPrompt(plain, plenty).prompt).toBe('$& dark\nx');
    const templated = storyOfTexts(['x'], { note: { text: '$& dark', template: '[<|>]', depth: 9 } });
    expect(buildPrompt(templated, plenty).prompt).toBe('[$& dark]\nx');
  });
});

describe('buildPrompt: limited context', () => {
  test('cuts a story at a paragraph and reports the offset', () => {
    const story = storyOfTexts(['First one here.\n\n', 'Second one here.\n\nThird one here.']);
    const built = buildPrompt(story, room(25));
    expect(built.prompt).toBe('Third one here.');
    expect(built.seenFrom).toEqual({ passage: 'b', offset: 18 });
    expect(built.dropped).toBe(35);
  });

  test('cuts a long paragraph at a sentence or a word', () => {
    const sentence = buildPrompt(storyOfTexts(['Alpha beta. Gamma delta. Epsilon zeta eta.']), room(32));
    expect(sentence.prompt).toBe('Gamma delta. Epsilon zeta eta.');
    expect(buildPrompt(storyOfTexts(['alpha beta gamma delta epsilon']), room(14)).prompt).toBe('delta epsilon');
    expect(buildPrompt(storyOfTexts(['x'.repeat(100)]), room(20)).prompt).toBe('x'.repeat(20));
  });

  test('cuts a chat at a turn', () => {
    const story = storyOfTexts(['Hello there.', 'me:Hi. How are you?', 'Fine.'], { mode: 'chat' });
    const built = buildPrompt(story, room(36));
    expect(built.prompt).toBe('Parley: Fine.\nParley:');
    expect(built.seenFrom).toEqual({ passage: 'c', offset: 0 });
  });

  test('keeps memory and some text', () => {
    const story = storyOfTexts(['One. Two. Three. Four. Five.'], { memory: 'm'.repeat(500) });
    const built = buildPrompt(story, room(40));
    expect(built.memory).toHaveLength(501);
    expect(built.prompt).toBe('Five.');
  });

  test('reports world info entries that do not fit', () => {
    const world = [1, 2, 3].map((order) =>
      newEntry({ id: String(order), order, constant: true, content: `${order}`.repeat(20) }),
    );
    const built = buildPrompt(storyOfTexts(['text'], { world }), room(75));
    expect(built.world.map(({ id }) => id)).toEqual(['1', '2']);
    expect(built.leftOut.map(({ id }) => id)).toEqual(['3']);
  });

  test('always keeps the end of the text within the limit', () => {
    const word = fc.constantFrom('One. ', 'two ', 'three\n', '\n\n', 'x'.repeat(30));
    const passage = fc.array(word, { minLength: 1, maxLength: 12 }).map((words) => words.join(''));
    const anyMode: fc.Arbitrary<Mode> = fc.constantFrom(...modes);
    fc.assert(
      fc.property(
        fc.array(passage, { minLength: 1, maxLength: 8 }),
        anyMode,
        fc.integer({ min: 60, max: 400 }),
        (texts, mode, characters) => {
          const whole = buildPrompt(storyOfTexts(texts, { mode }), plenty).prompt;
          const { prompt, dropped, seenFrom } = buildPrompt(storyOfTexts(texts, { mode }), room(characters));
          expect(whole.endsWith(prompt) || prompt.length <= 20).toBe(true);
          expect(prompt.length).toBeLessThanOrEqual(Math.max(characters, 40));
          expect(seenFrom !== undefined).toBe(dropped > 0);
        },
      ),
    );
  });
});
