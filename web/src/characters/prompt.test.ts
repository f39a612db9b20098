import { describe, expect, test } from 'vitest';
import type { Chat, Turn } from '../conversations/conversation.ts';
import { chatOfLine } from '../conversations/tree.ts';
import { type WireMessage, wireMessages } from '../replies/messages.ts';
import { newEntry } from '../story/story.ts';
import {
  type Cast,
  cleanedReply,
  type FrameContext,
  frameText,
  namesPrompt,
  promptFrame,
  stopsOf,
  summarizedTurns,
  turnText,
  withInserted,
} from './prompt.ts';
import { character, turns } from './testing/cast.ts';

const ada = character({
  name: 'Ada',
  description: '{{char}} mends engines for {{user}}.',
  personality: 'dry',
  scenario: 'A harbour.',
  examples: '<START>\n{{user}}: Hi.\n{{char}}: Hm.\n<START>\n{{char}}: Go.',
  afterMessages: 'Be brief.',
  depthPrompt: { text: '{{char}} is tired.', depth: 1, role: 'system' },
});
const bo = character({ name: 'Bo', description: 'A dog.' });
const maren = { name: 'Maren', description: '{{user}} keeps the light.' };
const parts: FrameContext = { system: '', now: new Date(0) };
const alone: Cast = { speaker: ada, characters: [ada], persona: maren };

const chatOf = (path: readonly Turn[], fields: Partial<Chat> = {}): Chat => ({
  ...chatOfLine('c', path, 1),
  ...fields,
});
const messagesOf = (
  path: readonly Turn[],
  cast: Cast = alone,
  fields: Partial<Chat> = {},
  options = {},
): Promise<WireMessage[]> =>
  wireMessages(promptFrame(chatOf(path, fields), path, cast, parts), path, async () => '', options);

const talk = turns('Ada:Come in, {{user}}.', 'me:Hello.');

describe('messages of a character chat', () => {
  test('have the card in the system message, and its prompts at their depth', async () => {
    expect(await messagesOf(talk)).toEqual([
      {
        role: 'system',
        content: [
          "Write Ada's next reply in a fictional chat between Ada and Maren.",
          'Maren keeps the light.',
          'Ada mends engines for Maren.',
          "Ada's personality: dry",
          'Scenario: A harbour.',
          'Example dialogue:\n***\nMaren: Hi.\nAda: Hm.\n***\nAda: Go.',
        ].join('\n\n'),
      },
      { role: 'assistant', content: 'Come in, Maren.' },
      { role: 'system', content: 'Ada is tired.' },
      { role: 'user', content: 'Hello.' },
      { role: 'system', content: 'Be brief.' },
    ]);
  });

  test('change with the name of the persona', async () => {
    const [, greeting] = await messagesOf(talk, { ...alone, persona: { name: 'Kit', description: '' } });
    expect(greeting).toEqual({ role: 'assistant', content: 'Come in, Kit.' });
  });

  test('end with the start of the reply when it is continued', async () => {
    const path = [...talk, ...turns('Ada:Well')];
    expect((await messagesOf(path, alone, {}, { continues: true })).slice(-2)).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'assistant', content: 'Well' },
    ]);
  });

  test('have a message of the user even if only the character spoke', async () => {
    const plain = { ...alone, speaker: bo, characters: [bo] };
    expect((await messagesOf(turns('Bo:Woof.'), plain)).map(({ role }) => role)).toEqual([
      'system',
      'user',
      'assistant',
    ]);
  });

  test('leave out the examples if there is no room', async () => {
    const [system] = await messagesOf(talk, alone, {}, { examples: false });
    expect(system?.content).not.toContain('Example dialogue');
  });
});

describe('system prompt', () => {
  const first = (fields: Partial<Chat>, settings: string, system: string): string => {
    const speaker = { ...bo, description: '', system };
    return promptFrame(
      chatOf(talk, fields),
      talk,
      { ...alone, speaker, characters: [speaker], persona: undefined },
      {
        ...parts,
        system: settings,
      },
    ).system;
  };
  test.each([
    ['of the settings', {}, 'Play {{char}}.', '', 'Play Bo.'],
    ['of the card', {}, 'Play.', 'Bark, {{char}}.', 'Bark, Bo.'],
    ['of the card with the one of the settings', {}, 'Play.', 'Bark. {{original}}', 'Bark. Play.'],
    ['of the chat', { system: 'Mine. {{original}}' }, 'Play.', 'Bark.', 'Mine. Bark.'],
  ])('%s', (_, fields, settings, system, expected) => {
    expect(first(fields, settings, system)).toBe(expected);
  });

  test('without characters is sent as it is written', () => {
    const cast: Cast = { speaker: undefined, characters: [], persona: undefined };
    const frame = promptFrame(chatOf(talk), talk, cast, { ...parts, system: 'Say {{user}}.\n' });
    expect(frame.system).toBe('Say {{user}}.\n');
    expect(frame.textOf({ ...(talk[0] as Turn), text: '{{user}}' })).toBe('{{user}}');
  });

  test('without characters has the persona and the lorebook', () => {
    const cast: Cast = { speaker: undefined, characters: [], persona: maren };
    const world = [newEntry({ id: 'w', keys: ['hello'], content: '{{user}} waves.' })];
    const frame = promptFrame(chatOf(talk, { world }), talk, cast, { ...parts, system: 'Help {{user}}.' });
    expect(frame.system).toBe('Help Maren.\n\nMaren waves.\n\nMaren keeps the light.');
  });
});

describe('lorebook', () => {
  const entry = (fields: object) => newEntry({ id: JSON.stringify(fields), keys: ['hello'], ...fields });
  const world = [
    entry({ content: 'Before.', order: 2 }),
    entry({ content: 'First.', order: 1 }),
    entry({ content: 'After {{char}}.', position: 'after' }),
    entry({ content: '@@depth 1\n@@role user\nDeep.' }),
    entry({ content: 'Missing.', keys: ['storm'] }),
  ];
  const speaker = character({ name: 'Ada', description: 'A.', world });
  const frame = promptFrame(
    chatOf(talk),
    talk,
    { ...alone, speaker, characters: [speaker], persona: undefined },
    parts,
  );

  test('entries are placed around the description and at their depth', () => {
    expect(frame.system.split('\n\n').slice(1)).toEqual(['First.\nBefore.', 'A.', 'After Ada.']);
    expect(frame.inserted).toEqual([{ text: 'Deep.', depth: 1, role: 'user' }]);
  });

  test('entries beyond the budget are left out, constant ones last', () => {
    const tight = {
      ...speaker,
      world: [...world.slice(0, 2), entry({ content: 'Always.', constant: true, order: 9 })],
      worldOptions: { budget: 4 },
    };
    const { system } = promptFrame(chatOf(talk), talk, { ...alone, speaker: tight, characters: [tight] }, parts);
    expect(system).toContain('Always.');
    expect(system).not.toContain('Before.');
  });
});

describe('group', () => {
  const group: Cast = { speaker: bo, characters: [ada, bo], persona: maren };
  const path = turns('Ada:Come in.', 'me:Both?', 'Ada:Both.', 'Bo:Woof.');

  test('the speaker is the assistant, and all others are the user by name', async () => {
    expect(await messagesOf(path, group)).toEqual([
      {
        role: 'system',
        content: [
          "Write Bo's next reply in a fictional group chat between Ada, Bo and Maren.",
          'Maren keeps the light.',
          'A dog.',
        ].join('\n\n'),
      },
      { role: 'user', content: 'Ada: Come in.' },
      { role: 'user', content: 'Maren: Both?' },
      { role: 'user', content: 'Ada: Both.' },
      { role: 'assistant', content: 'Woof.' },
      { role: 'system', content: '[Write the next reply only as Bo.]' },
    ]);
  });

  test('stops at the names of all others', () => {
    expect(stopsOf(chatOf(path, { stops: ['END'] }), group, path, ['###'])).toEqual([
      '\nMaren:',
      '\nAda:',
      'END',
      '###',
    ]);
  });
});

describe('namesPrompt', () => {
  test('has a line per message and opens the reply of the speaker', () => {
    const speaker = { ...ada, description: 'A.', personality: '', scenario: '' };
    const frame = promptFrame(chatOf(talk), talk, { speaker, characters: [speaker], persona: undefined }, parts);
    expect(namesPrompt(frame, { path: talk, begin: 'I', examples: false })).toBe(
      [
        "Write Ada's next reply in a fictional chat between Ada and You.\n\nA.\n***",
        'Ada: Come in, You.',
        'Ada is tired.',
        'You: Hello.',
        'Be brief.',
        'Ada: I',
      ].join('\n'),
    );
  });
});

describe('summary', () => {
  const chat = chatOf(talk, { summary: { text: 'They met.', upTo: 't0' } });

  test('is sent instead of the turns up to its last one', () => {
    expect(summarizedTurns(chat, talk)).toBe(1);
    expect(promptFrame(chat, talk, alone, parts).system).toContain('Summary of what happened before:\nThey met.');
  });

  test('of another branch is not sent', () => {
    const other = turns('me:Alone.').map((turn) => ({ ...turn, id: 'x' }));
    expect(summarizedTurns(chat, other)).toBe(0);
    expect(frameText(promptFrame(chat, other, alone, parts))).not.toContain('They met.');
  });
});

test('note: is inserted before the last messages', async () => {
  const path = turns('me:One.', 'Bo:Two.', 'me:Three.');
  const cast = { speaker: bo, characters: [bo], persona: undefined };
  const note = { text: 'It rains on {{user}}.', depth: 2, role: 'system' } as const;
  expect((await messagesOf(path, cast, { note })).slice(1).map(({ content }) => content)).toEqual([
    'One.',
    'It rains on You.',
    'Two.',
    'Three.',
  ]);
});

test('withInserted: keeps the order within a depth, and clamps depths', () => {
  const at = (text: string, depth: number) => ({ text, depth, role: 'system' as const });
  expect(withInserted(['a', 'b'], [at('x', 0), at('y', 9), at('z', 0)], ({ text }) => text)).toEqual([
    'y',
    'a',
    'b',
    'x',
    'z',
  ]);
});

test('turnText: chance depends on the message alone', () => {
  const turn = { ...(talk[0] as Turn), text: '{{random::a::b::c}} {{roll:100}}' };
  const chat = chatOf(talk);
  expect(turnText(chat, turn, alone, parts)).toBe(turnText(chat, turn, alone, { ...parts, now: new Date(5) }));
});

test.each([
  ['Ada: Hello.', 'Hello.'],
  ['Hello.\nMaren: And I', 'Hello.'],
  ['Hello: Ada: x', 'Hello: Ada: x'],
])('cleanedReply: %j becomes %j', (text, expected) => {
  expect(cleanedReply(text, 'Ada', ['\nMaren:'])).toBe(expected);
});
