import { describe, expect, test } from 'vitest';
import { fixedTextSource, modelError, refuseWithoutModel, type TextEngine, type TextState } from './text-service.ts';

function world() {
  let settle: () => void = () => undefined;
  const settled = new Promise<void>((resolve) => {
    settle = resolve;
  });
  const state = { type: 'none' } as const;
  const engine = { settled: () => settled, state: () => state, contextSize: () => 77 } as unknown as TextEngine;
  return { engine, settle, source: fixedTextSource(engine) };
}

async function isOver(work: Promise<unknown>): Promise<boolean> {
  return Promise.race([work.then(() => true), new Promise<boolean>((resolve) => setImmediate(resolve, false))]);
}

describe('fixedTextSource', () => {
  test('state is readable before the engine is ready', () => {
    const { source, engine } = world();
    expect([source.peek(), source.state(), source.contextSize()]).toEqual([engine, { type: 'none' }, 77]);
  });

  test('use waits for the engine', async () => {
    const { source, engine, settle } = world();
    const use = source.use();
    expect(await isOver(use)).toBe(false);
    settle();
    expect((await use).engine).toBe(engine);
  });

  test('keeps the engine after any number of releases', async () => {
    const { source, engine, settle } = world();
    settle();
    const { release } = await source.use();
    release();
    release();
    expect((await source.use()).engine).toBe(engine);
  });

  test('use rejects when its signal aborts before or during the wait', async () => {
    const { source } = world();
    await expect(source.use(AbortSignal.abort(new Error('before')))).rejects.toThrow('before');
    const client = new AbortController();
    const use = source.use(client.signal);
    client.abort(new Error('meanwhile'));
    await expect(use).rejects.toThrow('meanwhile');
  });

  test('an abort after use does not release the engine', async () => {
    const { source, engine, settle } = world();
    const client = new AbortController();
    settle();
    const use = await source.use(client.signal);
    client.abort();
    expect(use.engine).toBe(engine);
  });
});

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
