import { describe, expect, test } from 'vitest';
import { storyOfTexts } from './testing/stories.ts';
import {
  actionText,
  asOpenPrompt,
  asPrompt,
  cutAtStop,
  replyPrefix,
  separator,
  speakerOf,
  stopsOf,
  trimmedReply,
} from './turns.ts';

describe('actionText', () => {
  test.each([
    ['do', 'open the door', 'You open the door.'],
    ['do', 'You run!', 'You run!'],
    ['do', 'you wait', 'You wait.'],
    ['do', 'I sit down', 'You sit down.'],
    ['do', 'I light my lamp', 'You light your lamp.'],
    ['do', 'light my lamp and look around me', 'You light your lamp and look around you.'],
    ['do', "i'm hiding myself", "You're hiding yourself."],
    ['do', 'I wait until I am sure', 'You wait until you are sure.'],
    ['do', 'I enter the mine', 'You enter the mine.'],
    ['do', 'I whisper "Follow me, I know my way"', 'You whisper "Follow me, I know my way"'],
    ['do', 'young as you are, run', 'You young as you are, run.'],
    ['say', 'Who is there?', 'You say "Who is there?"'],
    ['say', '"Hello."', 'You say "Hello."'],
    ['story', ' It rains. ', 'It rains.'],
    ['do', '  ', ''],
  ] as const)('to %s %j is written %j', (kind, typed, expected) => {
    expect(actionText(kind, typed)).toBe(expected);
  });
});

describe('asPrompt', () => {
  const parts = ['me: look around ', 'A room.'];
  test.each([
    ['story', [' look around ', 'A room.'], ''],
    ['adventure', ['\n\n> look around\n\n', 'A room.'], ''],
    ['chat', ['\nYou: look around', '\nParley: A room.'], '\nParley:'],
    ['instruct', ['{{[INPUT]}}look around{{[INPUT_END]}}', '{{[OUTPUT]}}A room.{{[OUTPUT_END]}}'], '{{[OUTPUT]}}'],
  ] as const)('of a passage in %s has the marks of its mode', (mode, expected, before) => {
    const story = storyOfTexts(parts, { mode });
    expect(story.passages.map((passage) => asPrompt(story, passage))).toEqual(expected);
    expect(replyPrefix(story)).toBe(before);
  });

  test.each([
    ['story', 'A room. '],
    ['chat', '\nParley: A room.'],
    ['instruct', '{{[OUTPUT]}}A room. '],
  ] as const)('of a reply that goes on in %s is open at its end', (mode, expected) => {
    const story = storyOfTexts(['A room. '], { mode });
    const [passage] = story.passages;
    expect(passage && asOpenPrompt(story, passage)).toBe(expected);
  });

  test('uses the name of another speaker', () => {
    const story = storyOfTexts(['Hello.'], { mode: 'chat' });
    const [passage] = story.passages;
    expect(passage && speakerOf(story, { ...passage, name: 'Cora' })).toBe('Cora');
    expect(passage && asPrompt(story, { ...passage, name: 'Cora' })).toBe('\nCora: Hello.');
  });
});

test.each([
  ['story', ['END']],
  ['adventure', ['\n> ', 'END']],
  ['chat', ['\nYou:', '\nParley:', '\n', 'END']],
  ['instruct', ['{{[INPUT]}}', '{{[OUTPUT]}}', 'END']],
] as const)('a reply in %s ends where somebody else would speak', (mode, expected) => {
  expect(stopsOf(storyOfTexts([], { mode, stops: ['END', ''] }))).toEqual(expected);
});

test('stopsOf: contains all recent speakers of a chat', () => {
  const story = storyOfTexts(['Hi.'], { mode: 'chat' });
  const passages = story.passages.map((passage) => ({ ...passage, name: 'Cora' }));
  expect(stopsOf({ ...story, passages })).toEqual(['\nYou:', '\nParley:', '\nCora:', '\n']);
});

test('stopsOf: has no line break for multi-line replies', () => {
  expect(stopsOf(storyOfTexts([], { mode: 'chat', oneLine: false }))).not.toContain('\n');
});

test.each([
  ['story', ' and so on\n', ' and so on\n'],
  ['adventure', '\n\nA room. ', 'A room.'],
  ['chat', ' Hello. \n', 'Hello.'],
  ['instruct', '\nDone.\n', 'Done.'],
] as const)('a reply in %s is kept without what surrounds a turn', (mode, reply, kept) => {
  expect(trimmedReply(storyOfTexts([], { mode }), reply)).toBe(kept);
});

test.each([
  ['Hello.\nYou: hi', 'Hello.'],
  ['Hello.', 'Hello.'],
  ['a END b\nYou: c', 'a '],
])('cutAtStop: cuts %j at the first stop sequence', (text, expected) => {
  expect(cutAtStop(text, ['\nYou:', 'END'])).toBe(expected);
});

test('asPrompt: leaves out the reasoning of earlier replies', () => {
  const story = storyOfTexts(['<think>Hm.</think>Yes.'], { mode: 'instruct' });
  const [passage] = story.passages;
  expect(passage && asPrompt(story, passage)).toBe('{{[OUTPUT]}}Yes.{{[OUTPUT_END]}}');
});

test.each([
  ['', 'Once', ''],
  ['The end.', 'Or not.', ' '],
  ['The end. ', 'Or not.', ''],
  ['The end.\n\n', 'Or not.', ''],
  ['The end', ', or not.', ''],
  ['The end.', '\nOr not.', ''],
])('separator: after %j, %j follows with %j between', (before, added, expected) => {
  expect(separator(before, added)).toBe(expected);
});
