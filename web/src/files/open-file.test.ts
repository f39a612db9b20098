import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { zipOf } from '../../../src/documents/testing/zip.ts';
import { textOf } from '../story/story.ts';
import { counting, storyOfTexts } from '../story/testing/stories.ts';
import { exported, plainText } from './export-file.ts';
import { contentOf, type Found, storyOfText } from './open-file.ts';
import { packed, pngOf, textChunk } from './testing/png.ts';
import { Unreadable } from './unreadable.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const found = (name: string, content: Uint8Array | string): Promise<Found> =>
  contentOf(new File([typeof content === 'string' ? content : content.slice()], name), { newId: counting(), now: 1 });

test('storyOfText: is one text of the person', () => {
  const { mode, passages } = storyOfText('One.\n\nTwo.', counting(), 1);
  expect(mode).toBe('story');
  expect(passages.map(textOf).join('')).toBe('One.\n\nTwo.');
  expect(passages[0]?.by).toBe('person');
});

describe('contentOf', () => {
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
    ['text with a bracket first', 'a.txt', '[One]\r\nIt rained.', { kind: 'text', text: '[One]\nIt rained.' }],
    ['text with a zero byte', 'a.txt', 'zero\0byte', { kind: 'other' }],
    ['a list of numbers', 'a.json', '[1]', { kind: 'text' }],
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
    await expect(found('a.json', '')).rejects.toThrow('the JSON is not valid');
    await expect(found('a.json', '{"name": ')).rejects.toThrow('the JSON is not valid');
    const newer = JSON.stringify({ format: 'parley.chats', version: 99, chats: [] });
    await expect(found('c.json', newer)).rejects.toThrow(
      new Unreadable('it is of a newer version of Parley. Update Parley to read it.'),
    );
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

  test.each(['parley', 'lite'] as const)('as %s can be opened again', async (format) => {
    const { name, content, type } = exported(story, format);
    expect(type).toBe('application/json');
    const again = await found(name, content);
    expect(again).toMatchObject({ kind: 'story', story: { mode: 'adventure', title: story.title } });
    const { passages } = again.kind === 'story' ? again.story : story;
    expect(passages.map((passage) => [passage.by, textOf(passage)])).toEqual([
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
