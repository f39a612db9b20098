import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Story, textOf } from '../story/story.ts';
import { counting, storyOfTexts } from '../story/testing/stories.ts';
import { exported, plainText } from './export-file.ts';
import { storyOf } from './open-file.ts';
import { packed, pngOf, textChunk } from './testing/png.ts';
import { Unreadable } from './unreadable.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const open = (name: string, content: Uint8Array | string): Story =>
  storyOf({ name, bytes: typeof content === 'string' ? bytes(content) : content }, counting(), 1);
const whole = ({ passages }: Story): string => passages.map(textOf).join('');

describe('storyOf', () => {
  test('detects the format by content', () => {
    expect(open('x.txt', JSON.stringify({ name: 'Ada', first_mes: 'Hi.' }))).toMatchObject({
      mode: 'chat',
      title: 'Ada',
    });
    expect(open('card.json', pngOf(textChunk('chara', packed({ name: 'Bo', description: '' }))))).toMatchObject({
      title: 'Bo',
    });
    expect(open('fox.json', JSON.stringify({ gamestarted: true, prompt: 'A fox.', actions: [] }))).toMatchObject({
      title: 'fox',
    });
  });

  test('reads plain text with the file name as title', () => {
    const story = open('My tale.v2.txt', 'One.\r\n\r\nTwo.');
    expect(story).toMatchObject({ title: 'My tale.v2', mode: 'story' });
    expect(whole(story)).toBe('One.\n\nTwo.');
    expect(story.passages[0]?.by).toBe('person');
  });

  test('reads text that starts with a bracket', () => {
    expect(whole(open('note.txt', '[Chapter one]\nIt rained.'))).toBe('[Chapter one]\nIt rained.');
  });

  test.each([
    ['a.json', '', 'The file is empty.'],
    ['a.json', '{"parley": "story", ', 'The file is damaged: its JSON is not valid.'],
    ['a.json', '{"some": "thing"}', 'Unknown file. Use a Parley story, a KoboldAI Lite save or a character card.'],
    ['a.json', '[1]', 'Unknown file. Use a Parley story, a KoboldAI Lite save or a character card.'],
    ['a.bin', Uint8Array.of(0xff, 0xfe, 0x00), 'Unknown file. Use a text file'],
    ['a.txt', 'zero\0byte', 'Unknown file. Use a text file'],
  ])('rejects %s with content %j', (name, content, sentence) => {
    expect(() => open(name, content)).toThrow(sentence);
  });

  test('rejects a too large file without reading it', () => {
    expect(() => open('a.txt', new Uint8Array(64 * 1_048_576 + 1))).toThrow('The limit is 64 MB');
  });

  test('returns a story or throws a readable error for any bytes', () => {
    const file = fc.oneof(fc.uint8Array({ maxLength: 200 }), fc.json().map(bytes), fc.string().map(bytes));
    fc.assert(
      fc.property(file, (content) => {
        try {
          expect(open('x.json', content).mode).toBeDefined();
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(Unreadable);
        }
      }),
    );
  });
});

describe('exported', () => {
  const story = storyOfTexts(['Begin.', 'me:Go!', 'Next.'], { mode: 'adventure', title: 'Down/there: “now” 2' });

  test.each(['parley', 'lite'] as const)('as %s can be opened again', (format) => {
    const { name, content, type } = exported(story, format);
    expect(type).toBe('application/json');
    const again = open(name, content);
    expect(again).toMatchObject({ mode: 'adventure', title: story.title });
    expect(again.passages.map((passage) => [passage.by, textOf(passage)])).toEqual([
      ['model', 'Begin.'],
      ['person', 'Go!'],
      ['model', 'Next.'],
    ]);
  });

  test('has a valid file name', () => {
    expect(exported(story, 'text').name).toBe('Down there “now” 2.txt');
    expect(exported({ ...story, title: '???' }, 'parley').name).toBe('untitled.parley.json');
  });

  test.each([
    ['story', 'Begin.Go!Next.'],
    ['adventure', 'Begin.\n\n> Go!\n\nNext.'],
    ['chat', 'Parley: Begin.\n\nYou: Go!\n\nParley: Next.'],
  ] as const)('as plain text in %s reads well', (mode, expected) => {
    expect(plainText({ ...story, mode })).toBe(expected);
  });
});
