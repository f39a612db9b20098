import { expect, test } from 'vitest';
import { newEngine, readEngines, writtenEngines } from './engines.ts';

const recipe = {
  title: 'llama-server',
  program: 'llama-server',
  does: 'text',
  from: 'https://example.com',
  installed: false,
  engine: { command: ['llama-server', '--port', '${port}'], idle: '10m', timeout: '20m' },
};

test('newEngine: has all fields of its recipe', () => {
  expect(newEngine([], recipe)).toMatchObject({
    command: 'llama-server --port ${port}',
    idle: '10m',
    other: { timeout: '20m' },
  });
});

test('newEngine: has a name of its own', () => {
  const first = newEngine([], recipe);
  const second = newEngine([first], recipe);
  expect([first.name, second.name, newEngine([first, second], recipe).name]).toEqual([
    'llama-server',
    'llama-server-2',
    'llama-server-3',
  ]);
});

test('readEngines, writtenEngines: keep fields that the form does not have', () => {
  const engine = {
    name: 'qwen',
    command: 'llama-server --port ${port}',
    cwd: '/srv',
    env: { HF_TOKEN: 'a=b', EMPTY: '' },
    timeout: '20m',
    pass: ['cnet_*'],
  };
  const written = writtenEngines(readEngines([JSON.stringify(engine)])) as string[];
  expect(JSON.parse(written[0] ?? '')).toEqual(engine);
});

test('readEngines: reads NAME=COMMAND; writtenEngines: the default without programs', () => {
  expect(readEngines(['qwen=llama-server --port=${port}'])).toMatchObject([
    { name: 'qwen', command: 'llama-server --port=${port}' },
  ]);
  expect(readEngines(null)).toEqual([]);
  expect(readEngines(['{broken'])).toMatchObject([{ name: '', command: '{broken' }]);
  expect(writtenEngines([])).toBeNull();
});
