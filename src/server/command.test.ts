import { expect, test } from 'vitest';
import { flag, showUsage, text } from './command.ts';

const options = { port: text, json: flag, yes: { ...flag, short: 'y' } } as const;

function shown(...args: readonly string[]) {
  const lines: string[] = [];
  const terminal = { line: (line = '') => void lines.push(line) };
  const code = showUsage({ args, terminal }, { usage: 'the usage', options });
  return { code, text: lines.join('\n') };
}

test.each([[['--help']], [['-h']], [['rm', '--help', '--nonsense']]])('showUsage: %j is help, and no error', (args) => {
  expect(shown(...args)).toEqual({ code: 0, text: 'the usage' });
});

test.each([
  [['--nonsense'], '--nonsense is not an option here.'],
  [['-x'], '-x is not an option here.'],
  [['add', '--jsn'], '--jsn is not an option here. Did you mean --json?'],
  [['--port'], '--port needs a value.'],
  [['--port', '--json'], '--port needs a value.'],
  [['--json=1'], '--json takes no value.'],
])('showUsage: %j begins with what is wrong', (args, problem) => {
  expect(shown(...args)).toEqual({ code: 2, text: `${problem}\n\nthe usage` });
});

test('showUsage: other arguments that are not understood have the usage alone, also after the end of the options', () => {
  for (const args of [['nonsense'], ['--', '--help']]) expect(shown(...args)).toEqual({ code: 2, text: 'the usage' });
});
