import { expect, test } from 'vitest';
import { resolveMacros } from '../characters/macros.ts';
import { newScript, type RegexScript } from '../conversations/regex-script.ts';
import { chosenScripts, scriptsOf } from './chosen.ts';
import { problemOf, type Resolve, runScript } from './engine.ts';

const script = (fields: Partial<RegexScript>): RegexScript => newScript({ id: 's', ...fields });
const values = { user: 'Maren (M.)', char: 'Ada', now: new Date(0), random: () => 0 };
const resolve: Resolve = (text, quote = (value) => value) =>
  resolveMacros(text, { ...values, user: quote(values.user), char: quote(values.char) });
const ran = (fields: Partial<RegexScript>, text: string): string => runScript(script(fields), text, resolve);

test.each<[string, Partial<RegexScript>, string, string]>([
  ['replaces the first match without the flag g', { find: 'a', replace: 'b' }, 'aa', 'ba'],
  ['replaces all matches with it', { find: '/a/g', replace: 'b' }, 'aa', 'bb'],
  [
    'inserts groups by number and by name',
    { find: '/(\\w+) (?<last>\\w+)/', replace: '$<last>, $1' },
    'Ada Bo',
    'Bo, Ada',
  ],
  ['inserts the match', { find: '/\\*(.+?)\\*/g', replace: '<i>{{match}}</i>' }, '*a* b', '<i>*a*</i> b'],
  ['groups that took no part are empty', { find: '/(a)|b/g', replace: '[$1]' }, 'ab', '[a][]'],
  ['trims matches', { find: '/"(.*?)"/g', replace: '«$1»', trim: ['*'] }, '"*hi*"', '«hi»'],
  ['resolves macros of the replacement', { find: 'X', replace: '{{char}}' }, 'X!', 'Ada!'],
  ['leaves macros of the pattern as they are', { find: '{{char}}', replace: 'x' }, '{{char}} Ada', 'x Ada'],
  ['resolves macros of the pattern', { find: '/{{char}}/g', replace: 'x', macros: 'raw' }, 'Ada', 'x'],
  ['resolves them as plain text', { find: '/{{user}}/', replace: 'x', macros: 'escaped' }, 'Maren (M.)', 'x'],
  ['reads slashes within the pattern', { find: '/<br\\/>/g', replace: '\n' }, 'a<br/>b', 'a\nb'],
  ['dollar signs of the replacement stay', { find: 'a', replace: '$ $$ $a' }, 'a', '$ $$ $a'],
])('runScript: %s', (_, fields, text, expected) => {
  expect(ran(fields, text)).toBe(expected);
});

test.each([
  ['by many matches', { find: '/./g', replace: '$0'.repeat(2000) }, 'x'.repeat(1000)],
  ['by one match', { find: '/.+/', replace: '$0'.repeat(5000) }, 'x'.repeat(10_000)],
])('runScript: refuses a text that grows without bound %s', (_, fields, text) => {
  expect(() => ran(fields, text)).toThrow('the pattern makes the text too long');
});

test('runScript: a long text stays as long as it is', () => {
  const text = 'ab'.repeat(600_000);
  expect(ran({ find: '/a/', replace: 'c' }, text)).toHaveLength(text.length);
});

test('runScript: names of groups that a pattern has not are empty, whatever they are', () => {
  expect(ran({ find: 'a', replace: '[$<constructor>]', trim: ['x'] }, 'a')).toBe('[]');
});

test.each([
  ['/(?<=a)b/', 'the pattern uses a look-behind, which is not supported here'],
  ['/a(?!b)/', 'the pattern uses a look-ahead, which is not supported here'],
  ['/(a)\\1/', 'the pattern uses a back-reference, which is not supported here'],
  ['/a/y', 'the pattern has the flag y, which is not supported here'],
  ['(', 'the pattern has a group without an end'],
  ['', 'the pattern is empty'],
])('problemOf: names what %s has', (find, problem) => {
  expect(problemOf(script({ find }))).toBe(problem);
});

test('problemOf: nothing for patterns that can be run', () => {
  for (const find of ['a', '/{hp}/', '/<think>[\\s\\S]*?<\\/think>/gi', '/{{char}}:/gm'])
    expect(problemOf(script({ find }))).toBeUndefined();
});

test('chosenScripts: by who wrote the message, what changes and how deep it is', () => {
  const all = [
    script({ id: 'off', on: false }),
    script({ id: 'mine', user: true, reply: false, where: 'chat', onEdit: false }),
    script({ id: 'shown', where: 'shown', minDepth: 2 }),
    script({ id: 'sent', where: 'sent', maxDepth: 0 }),
    script({ id: 'both', where: 'shown-and-sent' }),
  ];
  const ids = (
    ...[role, stage, depth]: [Parameters<typeof chosenScripts>[1], 'chat' | 'edit' | 'shown' | 'sent', number?]
  ) => chosenScripts(all, role, stage, depth).map(({ id }) => id);
  expect(ids('user', 'chat')).toEqual(['mine']);
  expect(ids('user', 'edit')).toEqual([]);
  expect(ids('assistant', 'shown', 1)).toEqual(['both']);
  expect(ids('assistant', 'shown', 2)).toEqual(['shown', 'both']);
  expect(ids('assistant', 'sent', 0)).toEqual(['sent', 'both']);
  expect(ids('tool', 'shown', 5)).toEqual([]);
});

test('scriptsOf: those for all characters come first, without those that a character does without', () => {
  const [a, b, c] = ['a', 'b', 'c'].map((id) => script({ id })) as [RegexScript, RegexScript, RegexScript];
  const ada = { scripts: [c], scriptsOff: ['a'] } as never;
  expect(scriptsOf([a, b], [ada])).toEqual([b, c]);
  expect(scriptsOf([a, b], [])).toEqual([a, b]);
});
