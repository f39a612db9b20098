import { expect, test } from 'vitest';
import { curlRequest, inlineCommands, shellCommands } from './commands.ts';

const page = [
  'Start it with `parley --port 80`, see `--port` and `/api`:',
  '',
  '```sh',
  '# a comment',
  "curl localhost:5001/a -d '{",
  '  "b": 1',
  "}'",
  'curl -s localhost:5001/c |',
  '  sort',
  '```',
  '',
  '```text',
  'the output',
  '```',
  '',
  'Words, `npm test` among them, and `parley --port 80` again.',
  '',
  '```json',
  '{}',
  '```',
  '```sh',
  'npm start',
  '```',
].join('\n');

test('shellCommands: joins lines of one command, and takes the block behind them as output', () => {
  expect(shellCommands(page)).toEqual([
    { command: 'curl localhost:5001/a -d \'{\n  "b": 1\n}\'' },
    { command: 'curl -s localhost:5001/c |\n  sort', output: 'the output\n' },
    { command: 'npm start' },
  ]);
});

test('inlineCommands: each command of a sentence once, without flags, paths and blocks', () => {
  expect(inlineCommands(page)).toEqual(['parley --port 80', 'npm test']);
});

test.each([
  ['curl -s localhost:5001/c?d=1 | sort', { method: 'GET', path: '/c?d=1' }],
  ["curl -N http://localhost:5001/c -d '{}'", { method: 'POST', path: '/c' }],
  ['curl "http://localhost:5001/view?filename=a.png" -o a.png', { method: 'GET', path: '/view?filename=a.png' }],
  ['curl http://localhost:5001/c \\\n  -F file=@a', { method: 'POST', path: '/c' }],
  ['curl -X DELETE localhost:5001/c', { method: 'DELETE', path: '/c' }],
  ['curl -s https://example.com/c', undefined],
  ['npm start', undefined],
])('curlRequest: %s', (command, request) => {
  expect(curlRequest(command)).toEqual(request);
});
