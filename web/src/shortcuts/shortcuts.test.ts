import { describe, expect, test } from 'vitest';
import { actionOf, keysLabel, sheetRows, shortcuts } from './shortcuts.ts';

const pressed = (key: string, fields: Partial<Parameters<typeof actionOf>[0]> = {}) => ({
  key,
  code: '',
  shiftKey: false,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  ...fields,
});
const page = { typing: false, apple: false };
const field = { typing: true, apple: false };
const mac = { typing: true, apple: true };

describe('actionOf', () => {
  test.each([
    ['Alt+N', pressed('n', { altKey: true }), field, 'newChat'],
    ['Alt+N on a Mac, which writes ˜', pressed('˜', { altKey: true, code: 'KeyN' }), mac, 'newChat'],
    ['Alt+N on a Dvorak keyboard', pressed('n', { altKey: true, code: 'KeyL' }), field, 'newChat'],
    ['AltGr+N', pressed('n', { altKey: true, ctrlKey: true }), field, undefined],
    ['Ctrl+comma', pressed(',', { ctrlKey: true }), field, 'settings'],
    ['Command+comma on a Mac', pressed(',', { metaKey: true }), mac, 'settings'],
    ['Ctrl+comma on a Mac', pressed(',', { ctrlKey: true }), mac, undefined],
    ['a question mark on the page', pressed('?', { shiftKey: true }), page, 'sheet'],
    ['a question mark in a field', pressed('?', { shiftKey: true }), field, undefined],
    ['Ctrl+Z in a field', pressed('z', { ctrlKey: true }), field, undefined],
    ['Ctrl+Shift+Z on the page', pressed('Z', { ctrlKey: true, shiftKey: true }), page, 'redo'],
    ['Escape', pressed('Escape'), field, 'stop'],
    ['Alt+Shift+End', pressed('End', { altKey: true, shiftKey: true }), field, 'end'],
    ['Delete, which only the list handles', pressed('Delete'), page, undefined],
    ['a letter', pressed('n'), page, undefined],
  ] as const)('%s', (_, event, surroundings, action) => {
    expect(actionOf(event, surroundings)).toBe(action);
  });
});

test('shortcuts: no two actions have the same keys', () => {
  const keys = shortcuts.filter(({ where }) => where !== 'local').flatMap((shortcut) => shortcut.keys);
  expect(new Set(keys).size).toBe(keys.length);
});

test('keysLabel: uses the signs of the system', () => {
  expect(keysLabel('Mod+Shift+F', false)).toBe('Ctrl+Shift+F');
  expect(keysLabel('Mod+Shift+F', true)).toBe('⌘⇧F');
  expect(keysLabel('Alt+PageUp', false)).toBe('Alt+Page up');
});

test('sheetRows: keys of the message follow the setting', () => {
  const keysOf = (sendKey: 'enter' | 'ctrl-enter') =>
    sheetRows(sendKey)
      .flatMap(({ rows }) => rows)
      .filter(({ action }) => action === 'send' || action === 'newLine')
      .flatMap(({ keys }) => keys.map((one) => one.keys));
  expect(keysOf('enter')).toEqual(['Enter', 'Shift+Enter']);
  expect(keysOf('ctrl-enter')).toEqual(['Mod+Enter', 'Enter']);
});

test('sheetRows: each action has one row', () => {
  const actions = sheetRows('enter').flatMap(({ rows }) => rows.map(({ action }) => action));
  expect(new Set(actions).size).toBe(actions.length);
});
