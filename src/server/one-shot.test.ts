import { expect, test } from 'vitest';
import { oneShot } from './one-shot.ts';
import { fakeService } from './testing/service.ts';

function output() {
  const lost = new AbortController();
  const written: string[] = [];
  return { lost, written, output: { lost: lost.signal, write: (text: string) => void written.push(text) } };
}

test('the reply is written as it comes, and a line end after it', async () => {
  const { text, asked } = fakeService(() => ({ pieces: ['Once', ' upon', ' a time'] }));
  const { output: target, written } = output();
  await oneShot(text, 'Tell me', 50, target);
  expect(written).toEqual(['Once', ' upon', ' a time', '\n']);
  expect(asked).toMatchObject([{ prompt: 'Tell me', memory: '', maxTokens: 50 }]);
});

test('no more than the wanted tokens', async () => {
  const { text } = fakeService(() => ({ pieces: ['a', 'b', 'c'] }));
  const { output: target, written } = output();
  await oneShot(text, 'x', 2, target);
  expect(written.join('')).toBe('ab\n');
});

test('an engine that fails is a failure of the program, with what there was before', async () => {
  const { text } = fakeService(() => ({ pieces: ['a'], end: 'lost' }));
  const { output: target, written } = output();
  await expect(oneShot(text, 'x', 9, target)).rejects.toMatchObject({ code: 'engine-lost' });
  expect(written).toEqual(['a']);
});

test('without a model it says so', async () => {
  const { text, engine } = fakeService(() => ({ pieces: ['a'] }));
  engine.become({ type: 'none' });
  await expect(oneShot(text, 'x', 9, output().output)).rejects.toMatchObject({ code: 'model-missing' });
});

test('a reader that had enough stops the generation', async () => {
  const steps: (() => void)[] = [];
  const { text, engine } = fakeService(() => ({ pieces: ['a', 'b', 'c'] }), { pace: (next) => steps.push(next) });
  const { output: target, lost, written } = output();
  const running = oneShot(text, 'x', 9, target);
  while (written.length === 0) {
    steps.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  lost.abort();
  await running;
  expect([engine.running, written]).toEqual([0, ['a', '\n']]);
});

test('one that had enough before it began gets nothing made', async () => {
  const { text, engine } = fakeService(() => ({ pieces: ['a'] }));
  const { output: target, lost } = output();
  lost.abort();
  await oneShot(text, 'x', 9, target);
  expect(engine.begun).toBe(0);
});
