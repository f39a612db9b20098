import { expect, test, vi } from 'vitest';
import { closeAudio } from './microphone.ts';

test.each([
  ['running', 1],
  ['suspended', 1],
  ['closed', 0],
] as const)('closeAudio: a %s context is closed %i times', (state, times) => {
  const close = vi.fn(() => Promise.resolve());
  closeAudio({ state, close });
  expect(close).toHaveBeenCalledTimes(times);
});
