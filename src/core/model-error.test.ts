import { expect, test } from 'vitest';
import { modelError, refuseWithoutModel } from './model-error.ts';
import type { TextState } from './text-service.ts';

test.each<[TextState, string]>([
  [{ type: 'none' }, 'No text model is loaded. Start the server with --model FILE.'],
  [
    { type: 'none', byName: true },
    'No text model is loaded. Name one of GET /v1/models in the field "model" of the request, or start the server with --model FILE.',
  ],
  [{ type: 'failed', name: 'mini', reason: 'the file is cut off' }, 'mini could not be loaded: the file is cut off'],
])('modelError: %o rejects requests', (state, sentence) => {
  expect(modelError(state)?.message).toBe(sentence);
  expect(() => refuseWithoutModel(state)).toThrow(sentence);
});

test('modelError: undefined while the model loads', () => {
  const state: TextState = { type: 'loading', name: 'mini', progress: 0.5 };
  expect(modelError(state)).toBeUndefined();
  expect(() => refuseWithoutModel(state)).not.toThrow();
});

test('modelError: engine-down with the reason and retry time for a lost engine', () => {
  const trouble = { reason: 'the engine process died of SIGSEGV (6 times in a row)', retryAfterSeconds: 8 };
  const error = modelError({ type: 'loading', name: 'mini', progress: 0, trouble });
  expect(error).toMatchObject({ code: 'engine-down', status: 503, details: trouble });
  expect(error?.message).toBe(
    'The text engine is not there: the engine process died of SIGSEGV (6 times in a row). Please try again later.',
  );
});
