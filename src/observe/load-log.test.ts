import { expect, test } from 'vitest';
import { contextFact, LoadLog } from './load-log.ts';
import { Terminal } from './terminal.ts';

function world(interactive = false) {
  const time = { now: 0 };
  let written = '';
  const terminal = new Terminal({ interactive, columns: 80, write: (text) => (written += text) });
  return {
    time,
    log: new LoadLog(terminal, 'mini', () => time.now),
    lines: () => written.trim().split('\n'),
    written: () => written,
  };
}

test('LoadLog: a repeated load is timed from its own start', () => {
  const { time, log, lines } = world();
  for (const begun of [1000, 60_000]) {
    time.now = begun;
    log.started();
    time.now += 3500;
    log.progress(0.5);
    log.done(['tiny']);
  }
  const once = ['Loading mini: 50%', 'Load Text Model OK: True', 'Loaded mini in 3.5 s: tiny'];
  expect(lines()).toEqual([...once, ...once]);
});

test('LoadLog: a log file gets one line per quarter, however fine the progress is', () => {
  const { time, log, lines } = world();
  log.begin('/models/mini.gguf');
  log.started();
  time.now = 3000;
  for (let part = 0; part <= 100; part += 1) log.progress(part / 100);
  const quarters = [25, 50, 75, 100].map((percent) => `Loading mini: ${percent}%`);
  expect(lines()).toEqual(['Loading Text Model: /models/mini.gguf', ...quarters]);
});

test('LoadLog: a short load is not logged in parts', () => {
  const { time, log, lines } = world();
  log.started();
  for (const part of [0.25, 0.5, 0.75, 1]) {
    time.now += 700;
    log.progress(part);
  }
  log.done(['tiny']);
  expect(lines()).toEqual(['Load Text Model OK: True', 'Loaded mini in 2.8 s: tiny']);
});

test('LoadLog: a skipped quarter is not logged later', () => {
  const { time, log, lines } = world();
  log.started();
  time.now = 3000;
  for (const part of [0.1, 0.8, 0.3, 1]) log.progress(part);
  expect(lines()).toEqual(['Loading mini: 75%', 'Loading mini: 100%']);
});

test('LoadLog: a terminal gets a progress bar in place', () => {
  const { log, written } = world(true);
  log.started();
  log.progress(0.5);
  log.progress(0.9);
  expect(written().split('\r').length).toBe(3);
  expect(written()).not.toContain('\n');
  expect(written()).toContain('50%');
});

test('LoadLog: a failure has its reason, in the words that launchers know', () => {
  const { log, lines } = world();
  log.failed('no memory');
  expect(lines()).toEqual(['Load Text Model OK: False', 'mini could not be loaded: no memory']);
});

test.each([
  ['the requested one', { requested: 16384, isExplicit: false, trained: 131072, actual: 16384 }, 'context 16384'],
  [
    'lowered to the training context by default',
    { requested: 16384, isExplicit: false, trained: 2048, actual: 2048 },
    'context 2048 (as trained)',
  ],
  [
    'smaller than the training context on request',
    { requested: 1024, isExplicit: true, trained: 2048, actual: 1024 },
    'context 1024 (as --contextsize asks; the model was trained for 2048)',
  ],
  ['stretched on request', { requested: 4096, isExplicit: true, trained: 2048, actual: 4096 }, 'context 4096'],
  [
    'lowered by the engine despite the request',
    { requested: 65536, isExplicit: true, trained: 131072, actual: 32768 },
    'context 32768 (lowered from 65536 by the engine)',
  ],
])('contextFact: %s', (_, sizes, expected) => {
  expect(contextFact(sizes)).toBe(expected);
});
