import { expect, test } from 'vitest';
import { LoadLog } from './load-log.ts';
import { Terminal } from './terminal.ts';

function world() {
  const time = { now: 0 };
  let written = '';
  const terminal = new Terminal({ interactive: false, columns: 80, write: (text) => (written += text) });
  return { time, log: new LoadLog(terminal, 'mini', () => time.now), lines: () => written.trim().split('\n') };
}

test('a load that comes again is told from its own beginning', () => {
  const { time, log, lines } = world();
  for (const begun of [1000, 60_000]) {
    time.now = begun;
    log.started();
    log.progress(0.5);
    time.now += 1500;
    log.done(['tiny']);
  }
  const once = ['Loading mini: 50%', 'Load Text Model OK: True', 'Loaded mini in 1.5 s: tiny'];
  expect(lines()).toEqual([...once, ...once]);
});
