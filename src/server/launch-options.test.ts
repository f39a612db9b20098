import { expect, test } from 'vitest';
import { readLaunchOptions } from './launch-options.ts';

const read = (line: string) => readLaunchOptions(line.split(' ').filter(Boolean), 5001);

test('readLaunchOptions: own options, flags of the server, and what follows -- for the agent', () => {
  expect(read('codex --model a.gguf --gpulayers 20 --port=6000 --password k -- exec --model x -- y')).toEqual({
    agent: 'codex',
    model: 'a.gguf',
    port: 6000,
    hasPort: true,
    password: 'k',
    action: 'start',
    serverFlags: ['--gpulayers', '20'],
    agentArguments: ['exec', '--model', 'x', '--', 'y'],
  });
});

test('readLaunchOptions: nothing, and the actions', () => {
  expect(read('')).toMatchObject({ agent: undefined, port: 5001, hasPort: false, agentArguments: [] });
  expect(read('claude --config').action).toBe('config');
  expect(read('claude --restore').action).toBe('restore');
  expect(read('--help').action).toBe('help');
});

test.each([
  ['claude --model', '--model needs a value.'],
  ['claude --port 0', '--port must be from 1 to 65535.'],
])('readLaunchOptions: %s', (line, sentence) => {
  expect(() => read(line)).toThrow(sentence);
});
