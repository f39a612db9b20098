import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { chatsOf, isNewer, markdownFile, ownFile, type SharingContext, shareGptFile } from './sharing.ts';
import { emptyChat, pathOf, renamed, withTurn } from './tree.ts';

let last = 0;
const parts: SharingContext = {
  toDataUrl: async (blob) => `data:${blob.type};base64,${btoa(await blob.text())}`,
  toBlob: (url) => new Blob([atob(url.split(',')[1] ?? '')], { type: /^data:([^;]*)/.exec(url)?.[1] ?? '' }),
  newId: () => {
    last += 1;
    return `new${last}`;
  },
  now: 1000,
};

const imported = (text: string) => chatsOf(JSON.parse(text), parts);

const picture = { id: 'p', kind: 'image', name: 'cat.png', blob: new Blob(['bytes'], { type: 'image/png' }) } as const;
const notes = { id: 'n', kind: 'text', name: 'notes.txt', text: 'milk' } as const;
let chat = emptyChat('c', 5, 'Home');
chat = withTurn(chat, {
  id: 'a',
  parent: null,
  role: 'user',
  text: 'Who is it?',
  at: 6,
  attachments: [picture, notes],
});
chat = withTurn(chat, { id: 'b', parent: 'a', role: 'assistant', text: 'A dog.', at: 7, reasoning: 'Ears.' });
chat = withTurn(chat, { id: 'b2', parent: 'a', role: 'assistant', text: 'A **cat**.', at: 8 });
chat = { ...renamed(chat, 'Animals'), system: 'Be brief.' };

describe('ownFile', () => {
  test('is imported as the same chat with a new id', async () => {
    const [back] = imported(await ownFile([chat], parts));
    expect(back?.id).not.toBe(chat.id);
    expect({ ...back, id: 'c', turns: undefined }).toEqual({ ...chat, turns: undefined });
    expect(back?.turns.b).toEqual(chat.turns.b);
    const [image, text] = back?.turns.a?.attachments ?? [];
    expect(text).toEqual(notes);
    expect(image).toMatchObject({ kind: 'image', name: 'cat.png' });
    expect(await image?.blob?.text()).toBe('bytes');
    expect(image?.blob?.type).toBe('image/png');
  });

  test('of a newer version is recognised', async () => {
    expect(isNewer({ format: 'parley.chats', version: 2, chats: [] })).toBe(true);
    expect(isNewer(JSON.parse(await ownFile([chat], parts)))).toBe(false);
  });

  test('has the text of a running reply but not its key', async () => {
    const pending = { genkey: 'K', since: 0, prefix: '' };
    const open = withTurn(chat, { id: 'd', parent: 'b2', role: 'assistant', text: 'so far', at: 9, pending });
    const text = await ownFile([open], parts);
    expect(text).not.toContain('genkey');
    expect(imported(text)[0]?.turns.d?.text).toBe('so far');
  });

  test.each([
    ['a turn without an id', { x: { role: 'user', text: 'y' } }],
    ['a turn of an unknown role', { x: { id: 'x', role: 'ghost', text: 'y' } }],
    ['a turn whose parent is missing', { x: { id: 'x', parent: 'nowhere', role: 'user', text: 'y' } }],
    ['something that is no turn', { x: 7 }],
  ])('leaves out %s', (_, turns) => {
    const text = JSON.stringify({ format: 'parley.chats', version: 1, chats: [{ turns }] });
    expect(imported(text)[0]?.turns).toEqual({});
  });

  test('importing ignores attachments that are not data URLs', () => {
    const attachments = [
      { id: 'p', kind: 'image', name: 'x', data: 'https://example.com/x.png' },
      { kind: 'program' },
      3,
    ];
    const turns = { x: { id: 'x', parent: null, role: 'user', text: '', at: 1, attachments } };
    const text = JSON.stringify({ format: 'parley.chats', chats: [{ turns, chosen: { root: 'x', x: 'gone', y: 3 } }] });
    const [back] = imported(text);
    expect(back?.turns.x?.attachments ?? []).not.toContainEqual(expect.objectContaining({ blob: expect.anything() }));
    expect(back?.chosen).toEqual({ root: 'x' });
  });
});

test('ownFile: keeps the shown path of any tree', async () => {
  const step = fc.record({ parent: fc.nat(20), text: fc.string(), role: fc.constantFrom('user', 'assistant', 'tool') });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 15 }), async (steps) => {
      let tree = emptyChat('c', 0);
      steps.forEach(({ parent, text, role }, index) => {
        const known = Object.keys(tree.turns);
        const under = parent === 0 ? null : (known[parent % Math.max(1, known.length)] ?? null);
        tree = withTurn(tree, { id: `t${index}`, parent: under, role, text, at: index });
      });
      const [back] = imported(await ownFile([tree], parts));
      expect(back && pathOf(back)).toEqual(pathOf(tree));
      expect(back?.turns).toEqual(tree.turns);
    }),
    { numRuns: 40 },
  );
});

describe('shareGptFile', () => {
  test('has the shown path after the system prompt', () => {
    const [written] = JSON.parse(shareGptFile([chat], 'unused'));
    expect(written).toEqual({
      id: 'c',
      title: 'Animals',
      conversations: [
        { from: 'system', value: 'Be brief.' },
        { from: 'human', value: 'Who is it?' },
        { from: 'gpt', value: 'A **cat**.' },
      ],
    });
  });

  test('is imported as the same path', () => {
    const [back] = imported(shareGptFile([chat], ''));
    expect(back).toMatchObject({ title: 'Animals', system: 'Be brief.' });
    expect(pathOf(back ?? chat).map(({ role, text }) => [role, text])).toEqual([
      ['user', 'Who is it?'],
      ['assistant', 'A **cat**.'],
    ]);
  });

  test.each([
    ['one conversation', { conversations: [{ from: 'human', value: 'Hi' }] }],
    ['a bare list', [{ from: 'human', value: 'Hi' }]],
    ['messages of the chat API', { messages: [{ role: 'user', content: 'Hi' }] }],
    ['contents in parts', [{ role: 'user', content: [{ type: 'text', text: 'Hi' }, { type: 'image_url' }] }]],
  ])('may be %s', (_, value) => {
    const [back] = imported(JSON.stringify(value));
    expect(back?.title).toBe('Hi');
  });

  test('may be a list of conversations', () => {
    const one = (text: string) => ({ conversations: [{ from: 'user', value: text }] });
    expect(chatsOf([one('one'), one('two')], parts).map(({ title }) => title)).toEqual(['one', 'two']);
  });
});

test.each([['{"a": 1}'], ['[]'], ['null'], ['[{"conversations": [{"from": "ghost", "value": "boo"}]}]']])(
  'chatsOf: finds none in %s',
  (text) => {
    expect(imported(text)).toEqual([]);
  },
);

test('markdownFile: has title, roles, reasoning, files and calls', () => {
  const calls = [{ id: 'k', name: 'clock', arguments: '{"zone":"UTC"}' }];
  let full = withTurn(chat, { id: 'd', parent: 'b2', role: 'assistant', text: '', at: 9, calls, reasoning: 'Look.' });
  full = withTurn(full, { id: 'e', parent: 'd', role: 'tool', text: '12:00', at: 10, callId: 'k', toolName: 'clock' });
  expect(markdownFile(full)).toBe(
    [
      '# Animals',
      '## You',
      '*Attached: cat.png*',
      '*Attached: notes.txt*',
      'Who is it?',
      '## Reply',
      'A **cat**.',
      '## Reply',
      '<details><summary>Thoughts</summary>',
      'Look.',
      '</details>',
      '*Calls clock:* `{"zone":"UTC"}`',
      '## Result of clock',
      '12:00\n',
    ].join('\n\n'),
  );
});

test('chatsOf: a Parley file keeps the characters and the settings of a role-play', async () => {
  const chat = {
    ...emptyChat('c', 1),
    turns: {
      t: { id: 't', parent: null, role: 'assistant' as const, text: 'Hi.', at: 1, speaker: 'ada', name: 'Ada' },
    },
    chosen: { root: 't' },
    characters: ['ada'],
    persona: 'p',
    promptForm: 'names' as const,
    note: { text: 'Rain.', depth: 2, role: 'system' as const },
    summary: { text: 'They met.', upTo: 't' },
  };
  const text = await ownFile([chat], { toDataUrl: async () => '' });
  const { characters, persona, promptForm, note, summary, turns } = chat;
  expect(
    chatsOf(JSON.parse(text), { toDataUrl: async () => '', toBlob: () => new Blob(), newId: () => 'n', now: 2 }),
  ).toMatchObject([{ characters, persona, promptForm, note, summary, turns }]);
});
