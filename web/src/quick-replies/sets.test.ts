import { expect, test } from 'vitest';
import { counting } from '../story/testing/stories.ts';
import { type QuickReply, quickRepliesFor, quickRepliesIn, quickReplyFile, quickReplyText } from './sets.ts';
import { commandIn, slashAt } from './slash.ts';

const values = { user: 'Maren', char: 'Ada', now: new Date(0), random: () => 0 };
const reply = (fields: Partial<QuickReply>): QuickReply => ({
  id: 'q',
  label: 'Q',
  text: '',
  send: true,
  button: true,
  ...fields,
});
const read = (value: unknown) => quickRepliesIn(value, counting());

test('quickRepliesIn: reads a set of SillyTavern', () => {
  const set = {
    version: 2,
    name: 'Mine',
    disableSend: false,
    qrList: [
      { id: 1, label: 'Wave', message: '*waves at {{char}}*' },
      { id: 2, label: 'Again', message: '/retry', isHidden: true },
      {
        id: 3,
        label: 'Script',
        message: '/echo hi | /send {{input}}',
        executeOnUser: true,
        contextList: [{ set: 'X' }],
      },
      { id: 4, label: '', message: '' },
    ],
  };
  expect(read(set)).toMatchObject([
    { label: 'Wave', text: '*waves at {{char}}*', send: true, button: true },
    { label: 'Again', text: '/retry', send: true, button: false },
    { label: 'Script', send: false, unknown: ['echo', 'send'], lost: ['automatic', 'contextMenu'] },
  ]);
});

test('quickRepliesIn: reads the first version of such sets, and adds what is typed where they do', () => {
  const set = {
    name: 'Old',
    AutoInputInject: true,
    quickActionEnabled: true,
    quickReplySlots: [{ mes: 'Say:', label: 'S' }],
  };
  expect(read({ ...set, placeBeforeInputEnabled: true })).toMatchObject([
    { label: 'S', text: 'Say: {{input}}', send: false },
  ]);
  expect(read(set)[0]?.text).toBe('{{input}} Say:');
});

test('quickRepliesIn: reads what quickReplyFile writes, and nothing from other files', () => {
  const own = [reply({ text: 'Hi', character: 'ada', send: false })];
  expect(read(JSON.parse(JSON.stringify(quickReplyFile(own))))).toEqual([
    { id: expect.any(String), label: 'Q', text: 'Hi', send: false, button: true },
  ]);
  for (const other of [null, [], { qrList: 'x' }, { quickReplySlots: [3] }]) expect(read(other)).toEqual([]);
});

test('quickReplyText: names are resolved, what is typed stays as it is', () => {
  expect(quickReplyText(reply({ text: '{{user}} to {{char}}: {{input}}!' }), '{{user}}', values)).toBe(
    'Maren to Ada: {{user}}!',
  );
});

test('quickRepliesFor: those for all chats, for the chat and for its characters', () => {
  const all = [reply({ id: 'a' }), reply({ id: 'b', chat: 'c' }), reply({ id: 'd', character: 'ada' })];
  const ids = (chat?: { id: string; characters?: string[] }) => quickRepliesFor(all, chat).map(({ id }) => id);
  expect(ids()).toEqual(['a']);
  expect(ids({ id: 'c' })).toEqual(['a', 'b']);
  expect(ids({ id: 'x', characters: ['bo', 'ada'] })).toEqual(['a', 'd']);
});

test.each([
  ['/retry', { name: 'retry', argument: '' }],
  ['/Image a red\nhouse ', { name: 'image', argument: 'a red\nhouse' }],
  ['/model  qwen 3', { name: 'model', argument: 'qwen 3' }],
  [' /retry', undefined],
  ['/usr/bin', undefined],
  ['/unknown', undefined],
  ['1/2', undefined],
])('commandIn: %j is %j', (text, command) => {
  expect(commandIn(text)).toEqual(command);
});

test.each([
  ['/', 1, { kind: 'command', query: '' }],
  ['/re', 3, { kind: 'command', query: 're' }],
  ['/retry now', 3, { kind: 'command', query: 're' }],
  ['/retry now', 10, undefined],
  ['/model q', 8, { kind: 'model', query: 'q' }],
  ['/usr/b', 6, undefined],
  ['a /re', 5, undefined],
])('slashAt: in %j at %i', (text, caret, typed) => {
  expect(slashAt(text, caret)).toEqual(typed);
});
