import { expect, test } from 'vitest';
import { defaultSettings } from '../config/flags.ts';
import { sketchFacts } from '../engines/image/facts.ts';
import { imageObserver } from './image-observer.ts';

function world(debugmode: 0 | 1 = 0) {
  const lines: string[] = [];
  const observer = imageObserver(
    'dream',
    { line: (text = '') => void lines.push(text) },
    { ...defaultSettings, debugmode },
  );
  return { lines, observer };
}

test('people are told when the model is there, why it is not, and what it notes', () => {
  const { lines, observer } = world();
  observer.loaded?.(sketchFacts('/m'));
  observer.failed?.('damaged');
  observer.note?.('by the way');
  expect(lines).toEqual(['Loaded dream for pictures.', 'dream could not be loaded: damaged', 'by the way']);
});

test('an engine that is gone is told with what comes next', () => {
  const { lines, observer } = world();
  const exit = { code: 1, signal: null, lastLines: [] };
  observer.lost?.({ type: 'died', exit, reason: 'the engine process ended with code 1', failures: 1, nextTryMs: 0 });
  expect(lines).toEqual(['The image engine stopped (code 1); it is being started again.']);
});

test('what the engine says itself is for those who asked to see it', () => {
  expect(world().observer.line).toBeUndefined();
  const { lines, observer } = world(1);
  observer.line?.('loading tensors');
  expect(lines).toEqual(['dream: loading tensors']);
});
