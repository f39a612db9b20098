import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Story, textOf } from '../story/story.ts';
import { counting, storyOfTexts } from '../story/testing/stories.ts';
import { exported, plainText } from './export-file.ts';
import { contentOf, type Found, storyOf } from './open-file.ts';
import { packed, pngOf, textChunk } from './testing/png.ts';
import { zipOf } from './testing/zip.ts';
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
    ['a.json', '', "Can't open a.json: the file is empty."],
    ['a.json', '{"parley": "story", ', "Can't open a.json: the JSON is not valid."],
    ['a.json', '{"some": "thing"}', "Can't open a.json: unknown format."],
    ['a.json', '[1]', "Can't open a.json: unknown format."],
    ['a.bin', Uint8Array.of(0xff, 0xfe, 0x00), "Can't open a.bin: unknown format."],
    ['a.txt', 'zero\0byte', "Can't open a.txt: unknown format."],
  ])('rejects %s with content %j', (name, content, sentence) => {
    expect(() => open(name, content)).toThrow(sentence);
  });

  test('rejects a too large file without reading it', () => {
    expect(() => open('a.txt', new Uint8Array(64 * 1_048_576 + 1))).toThrow('the limit is 64 MB');
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

describe('contentOf', () => {
  const found = (name: string, content: Uint8Array | string): Promise<Found> =>
    contentOf({ name, bytes: typeof content === 'string' ? bytes(content) : content }, { newId: counting(), now: 1 });
  const card = { spec: 'chara_card_v3', data: { name: 'Ada', first_mes: 'Hi.' } };

  test.each([
    ['card V1', 'a.txt', JSON.stringify({ name: 'Ada', first_mes: 'Hi.' }), { character: { name: 'Ada' } }],
    ['card V3', 'a.json', JSON.stringify(card), { character: { name: 'Ada', greetings: ['Hi.'] } }],
    ['PNG card', 'a.bin', pngOf(textChunk('chara', packed(card))), { character: { name: 'Ada' } }],
    ['lorebook', 'w.json', JSON.stringify({ entries: { 0: { key: ['x'], content: 'X.' } } }), { kind: 'lorebook' }],
    ['Parley chats', 'c.json', JSON.stringify({ format: 'parley.chats', chats: [] }), { kind: 'chats', chats: [] }],
    [
      'ShareGPT',
      'c.json',
      JSON.stringify([{ conversations: [{ from: 'human', value: 'Hi.' }] }]),
      { kind: 'chats', chats: [{ title: 'Hi.' }] },
    ],
    [
      'JSON Lines',
      'c.jsonl',
      '{"messages":[{"role":"user","content":"One."}]}\n{"messages":[{"role":"user","content":"Two."}]}\n',
      { kind: 'chats', chats: [{ title: 'One.' }, { title: 'Two.' }] },
    ],
    [
      'SillyTavern chat',
      'c.jsonl',
      '{"user_name":"unused","chat_metadata":{}}\n{"name":"Ada","is_user":false,"mes":"Hi."}',
      { kind: 'named-chat', named: { characters: ['Ada'] } },
    ],
    [
      'Lite save',
      'fox.json',
      JSON.stringify({ gamestarted: true, prompt: 'A', actions: [] }),
      { story: { title: 'fox' } },
    ],
    ['Parley story', 's.json', JSON.stringify({ parley: 'story', story: { title: 'S' } }), { story: { title: 'S' } }],
    ['preset', 'p.json', JSON.stringify({ temp: 1, top_p: 0.9, rep_pen: 1.1 }), { kind: 'preset' }],
    ['text', 'a.md', '# Hi', { kind: 'text', text: '# Hi' }],
    ['unknown JSON', 'a.json', '{"a":1}', { kind: 'text' }],
    ['picture without card', 'a.png', pngOf(), { kind: 'other' }],
    ['binary', 'a.bin', Uint8Array.of(0xff, 0), { kind: 'other' }],
  ] as [string, string, string | Uint8Array, object][])('detects %s', async (_, name, content, expected) => {
    expect(await found(name, content)).toMatchObject(expected);
  });

  test('reads a charx archive with its picture', async () => {
    const data = { name: 'Ada', assets: [{ type: 'icon', name: 'main', uri: 'embeded://assets/a.png', ext: 'png' }] };
    const archive = await zipOf({
      'card.json': JSON.stringify({ spec: 'chara_card_v3', data }),
      'assets/a.png': Uint8Array.of(1, 2),
    });
    const content = await found('a.zip', archive);
    expect(content).toMatchObject({ kind: 'character', character: { name: 'Ada' } });
    const picture = content.kind === 'character' ? content.character.picture : undefined;
    expect([picture?.type, picture?.size]).toEqual(['image/png', 2]);
    await expect(found('a.charx', await zipOf({ a: '' }))).rejects.toThrow('contains no character card');
  });

  test('rejects damaged JSON by its name', async () => {
    await expect(found('a.json', '{"name": ')).rejects.toThrow('the JSON is not valid');
    expect(await found('a.txt', '{"name": ')).toMatchObject({ kind: 'text' });
  });

  test('returns a result or throws a readable error for any bytes', async () => {
    const file = fc.oneof(fc.uint8Array({ maxLength: 200 }), fc.json().map(bytes), fc.string().map(bytes));
    await fc.assert(
      fc.asyncProperty(file, async (content) => {
        try {
          expect((await found('x.json', content)).kind).toBeDefined();
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
