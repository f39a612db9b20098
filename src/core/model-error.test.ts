import { expect, test } from 'vitest';
import { modelError, refuseWithoutModel } from './model-error.ts';
import type { TextState } from './text-service.ts';

test.each<[TextState, string]>([
  [{ type: 'none' }, 'No text model is loaded. Start the server with --model FILE.'],
  [{ type: 'failed', name: 'mini', reason: 'the file is cut off' }, 'mini could not be loaded: the file is cut off'],
])('with %o there is nothing to ask', (state, sentence) => {
  expect(modelError(state)?.message).toBe(sentence);
  expect(() => refuseWithoutModel(state)).toThrow(sentence);
});

test('a model that is on its way can be asked', () => {
  const state: TextState = { type: 'loading', name: 'mini', progress: 0.5 };
  expect(modelError(state)).toBeUndefined();
  expect(() => refuseWithoutModel(state)).not.toThrow();
});
