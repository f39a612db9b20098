import { expect, test } from 'vitest';
import { throttleToFrames } from './frame-throttle.ts';

/** A screen with a frame every 16 ms, advanced by hand. */
function screen(cost: () => number) {
  let time = 0;
  let shown = 0;
  let due: (() => void)[] = [];
  const show = throttleToFrames(
    () => {
      shown += 1;
      time += cost();
    },
    { now: () => time, nextFrame: (run) => due.push(run) },
  );
  const frame = (): void => {
    time += 16;
    const now = due;
    due = [];
    for (const run of now) run();
  };
  return { show, frame, shown: () => shown, waiting: () => due.length };
}

test('throttleToFrames: renders once per frame', () => {
  const { show, frame, shown } = screen(() => 1);
  for (let piece = 0; piece < 20; piece += 1) show();
  expect(shown()).toBe(0);
  frame();
  expect(shown()).toBe(1);
  frame();
  expect(shown()).toBe(1);
});

test('throttleToFrames: renders each frame if it is fast', () => {
  const { show, frame, shown } = screen(() => 2);
  for (let piece = 0; piece < 30; piece += 1) {
    show();
    frame();
  }
  expect(shown()).toBe(30);
});

test('throttleToFrames: spaces slow renders', () => {
  const { show, frame, shown, waiting } = screen(() => 40);
  for (let piece = 0; piece < 100; piece += 1) {
    show();
    frame();
  }
  // 40 ms of work in at least 160 ms.
  expect(shown()).toBeGreaterThan(8);
  expect(shown()).toBeLessThan(15);
  expect(waiting()).toBe(1);
});

test('throttleToFrames: renders the last state', () => {
  const { show, frame, shown, waiting } = screen(() => 100);
  show();
  frame();
  show();
  while (waiting() > 0) frame();
  expect(shown()).toBe(2);
});
