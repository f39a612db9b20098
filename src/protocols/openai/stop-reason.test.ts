import { expect, test } from 'vitest';
import { stopNote, stopReason } from './stop-reason.ts';

test('a stop text that ended a reply is named, in whatever letters', () => {
  expect(stopReason({ stopText: 'User:' })).toEqual({ stop_reason: 'User:' });
  expect(stopNote({ stopText: '"\n' })).toBe(',"stop_reason":"\\"\\n"');
});

test('nothing is said where none did', () => {
  expect(stopReason({})).toEqual({});
  expect(stopNote({ stopText: undefined })).toBe('');
});
