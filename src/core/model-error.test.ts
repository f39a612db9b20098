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

test('one that was lost and does not come back soon cannot: whoever asks is told why and when to ask again', () => {
  const trouble = { reason: 'the engine process died of SIGSEGV (6 times in a row)', retryAfterSeconds: 8 };
  const error = modelError({ type: 'loading', name: 'mini', progress: 0, trouble });
  expect(error).toMatchObject({ code: 'engine-down', status: 503, details: trouble });
  expect(error?.message).toBe(
    'The text engine is not there: the engine process died of SIGSEGV (6 times in a row). Please try again later.',
  );
});
