import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { downloadProgress, progressBar, streamOutput, Terminal } from './terminal.ts';

function record(interactive: boolean, columns = 40) {
  let written = '';
  const terminal = new Terminal({ interactive, columns, write: (text) => (written += text) });
  return { terminal, written: () => written };
}

test('Terminal: replaces the status in place, and erases it before a line', () => {
  const { terminal, written } = record(true);
  terminal.status('Loading 10%');
  terminal.status('Done');
  terminal.line('ready');
  expect(written()).toBe('\rLoading 10%\rDone       \r    \rready\n');
});

test('Terminal: an empty status removes it', () => {
  const { terminal, written } = record(true);
  terminal.status('Done');
  terminal.status('');
  terminal.line('ready');
  expect(written()).toBe('\rDone\r    \rready\n');
});

test('Terminal: writes no status to a log file', () => {
  const { terminal, written } = record(false);
  terminal.status('Loading 10%');
  terminal.line('ready');
  expect(written()).toBe('ready\n');
});

test('Terminal: cuts a status to the width', () => {
  const { terminal, written } = record(true);
  terminal.status('x'.repeat(100));
  expect(written()).toBe(`\r${'x'.repeat(39)}`);
});

test('progressBar: shows the fraction', () => {
  expect(progressBar(0.5, 10)).toBe('[█████░░░░░] 50%');
  expect(progressBar(1, 4)).toBe('[████] 100%');
});

test('downloadProgress: a terminal gets a bar with amount and speed, and hears what happens before and after', () => {
  const { terminal, written } = record(true, 100);
  let now = 0;
  const bar = downloadProgress(terminal, () => now, 'large.gguf');
  for (const done of [10e6, 50e6, 100e6]) {
    bar(done, 100e6);
    now += 2000;
  }
  const states = written()
    .split('\r')
    .slice(1)
    .map((text) => text.trimEnd());
  expect(states).toEqual([
    'large.gguf: connecting …',
    `large.gguf ${progressBar(0.1)} 10 of 100 MB`,
    `large.gguf ${progressBar(0.5)} 50 of 100 MB, 20.0 MB/s`,
    'large.gguf: checking …',
  ]);
});

test('downloadProgress: a log file gets a line per tenth', () => {
  const { terminal, written } = record(false);
  const bar = downloadProgress(terminal, () => 0, 'large.gguf');
  for (let done = 0; done <= 100e6; done += 1e6) bar(done, 100e6);
  const lines = written().trim().split('\n');
  expect(lines).toHaveLength(10);
  expect([lines[0], lines[9]]).toEqual(['large.gguf: 10% (10 of 100 MB)', 'large.gguf: 100% (100 of 100 MB)']);
});

test('downloadProgress: without a known size, a terminal gets the amount, and a log file nothing', () => {
  const [shown, logged] = [record(true), record(false)];
  for (const { terminal } of [shown, logged]) downloadProgress(terminal, () => 0)(3e6, undefined);
  expect(shown.written()).toContain('Download 3 MB');
  expect(logged.written()).toBe('');
});

/** A stream whose every write can be made to fail, as those of the system do: later, by an event. */
class FakeStream extends EventEmitter {
  readonly written: string[] = [];
  writableLength = 0;
  isTTY = false;
  columns: number | undefined;

  write(text: string): boolean {
    this.written.push(text);
    return true;
  }

  fail(code: string): void {
    this.emit('error', Object.assign(new Error(code), { code }));
  }
}

test('streamOutput: writes to the stream', () => {
  const stream = new FakeStream();
  new Terminal(streamOutput(stream, { moving: true })).line('ready');
  expect(stream.written).toEqual(['ready\n']);
});

test.each(['EPIPE', 'EIO', 'EBADF', 'ECONNRESET', 'ERR_STREAM_DESTROYED'])(
  'streamOutput: after %s nothing more is written',
  (code) => {
    const stream = new FakeStream();
    const output = streamOutput(stream, { moving: true });
    output.write('one\n');
    stream.fail(code);
    output.write('two\n');
    expect(stream.written).toEqual(['one\n']);
  },
);

test.each(['ENOSPC', 'EDQUOT', 'EAGAIN'])(
  'streamOutput: after %s the next line is tried again, however often it fails',
  (code) => {
    const stream = new FakeStream();
    const output = streamOutput(stream, { moving: true });
    for (const line of ['one\n', 'two\n', 'three\n']) {
      output.write(line);
      stream.fail(code);
    }
    expect(stream.written).toEqual(['one\n', 'two\n', 'three\n']);
  },
);

test('streamOutput: drops lines while too much is unread, and reports how many', () => {
  const stream = new FakeStream();
  const output = streamOutput(stream, { moving: true });
  stream.writableLength = 2 * 1024 * 1024;
  for (let line = 0; line < 37; line += 1) output.write('unread\n');
  stream.writableLength = 0;
  output.write('next\n');
  output.write('last\n');
  expect(stream.written).toEqual(['[37 lines were left out here: nobody read them.]\n', 'next\n', 'last\n']);
});

test.each([
  [true, true, true],
  [true, false, false],
  [false, true, false],
])('streamOutput: TTY %s with moving %s updates in place: %s', (isTTY, moving, expected) => {
  const stream = new FakeStream();
  stream.isTTY = isTTY;
  expect(streamOutput(stream, { moving }).interactive).toBe(expected);
});

test('streamOutput: columns follow the width of the terminal', () => {
  const stream = new FakeStream();
  const output = streamOutput(stream, { moving: true });
  expect(output.columns).toBe(80);
  stream.columns = 120;
  expect(output.columns).toBe(120);
});
