import { describe, expect, test } from 'vitest';
import type { TextEngine } from './text-service.ts';
import { fixedTextSource } from './text-source.ts';

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
