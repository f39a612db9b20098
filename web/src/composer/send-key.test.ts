import { expect, test } from 'vitest';
import { sends } from './send-key.ts';

const enter = { key: 'Enter', shiftKey: false, ctrlKey: false, metaKey: false, altKey: false, isComposing: false };

test.each([
  ['Enter, if it is the send key', enter, 'enter', false, true],
  ['Enter, if Ctrl+Enter is the send key', enter, 'ctrl-enter', false, false],
  ['Enter on a touch screen', enter, 'enter', true, false],
  ['Ctrl+Enter', { ...enter, ctrlKey: true }, 'ctrl-enter', false, true],
  ['Command+Enter on a touch screen', { ...enter, metaKey: true }, 'enter', true, true],
  ['Shift+Enter', { ...enter, shiftKey: true }, 'enter', false, false],
  ['Enter of an input method', { ...enter, isComposing: true }, 'enter', false, false],
  ['another key', { ...enter, key: 'a' }, 'enter', false, false],
] as const)('sends: %s', (_, event, key, touch, expected) => {
  expect(sends(event, key, touch)).toBe(expected);
});
