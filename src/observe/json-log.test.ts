import { expect, test } from 'vitest';
import { AppError } from '../core/errors.ts';
import { exchangeLog, failAsJson, JsonTerminal, requestFacts } from './json-log.ts';
import { chat, exchange } from './testing/exchange.ts';

const now = () => new Date('2030-01-02T03:04:05.678Z');
const time = '2030-01-02T03:04:05.678Z';

function world({ writableLength = 0 } = {}) {
  let written = '';
  const stream = {
    isTTY: true,
    columns: 80,
    writableLength,
    write: (text: string) => {
      written += text;
    },
    on: () => undefined,
  };
  const terminal = new JsonTerminal(stream, now);
  const lines = () =>
    written
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  return { terminal, stream, lines };
}

test('--logformat json: every line is an object, without status lines and empty lines', () => {
  const { terminal, lines } = world();
  terminal.line('Welcome');
  terminal.status('Loading [██░░] 50%');
  terminal.line();
  terminal.line('Loaded\nmini', { event: 'load', model: 'mini' });
  expect(terminal.interactive).toBe(false);
  expect(terminal.hasPrinted('mini')).toBe(true);
  expect(lines()).toEqual([
    { time, level: 'info', event: 'message', text: 'Welcome' },
    { time, level: 'info', event: 'load', model: 'mini', text: 'Loaded\nmini' },
  ]);
});

test('--logformat json: dropped lines are replaced by an object', () => {
  const { terminal, stream, lines } = world({ writableLength: 2 ** 21 });
  terminal.line('lost');
  stream.writableLength = 0;
  terminal.line('seen');
  expect(lines()).toMatchObject([
    { level: 'warn', text: '[1 lines were left out here: nobody read them.]' },
    { text: 'seen' },
  ]);
});

test('--logformat json: a request has its id, figures and names, and nothing of its headers or query', () => {
  const { terminal, lines } = world();
  const log = exchangeLog(terminal, { quiet: true });
  const { record, wait } = chat({}, { content: log.content, over: [log.write] });
  wait(1);
  record.ended('sent');
  expect(lines()).toEqual([
    {
      time,
      level: 'info',
      event: 'request',
      request_id: 'req_1',
      family: 'openai',
      method: 'POST',
      path: '/v1/chat/completions',
      status: 200,
      outcome: 'done',
      remote: '10.0.0.7',
      key: 'phone',
      model: 'mini',
      work: ['text'],
      duration_ms: 91,
      queue_ms: 5,
      load_ms: 3,
      first_token_ms: 30,
      prompt_ms: 20,
      generation_ms: 60,
      prompt_tokens: 10,
      cached_tokens: 6,
      completion_tokens: 3,
      prompt_tokens_per_second: 200,
      completion_tokens_per_second: 50,
      finish_reason: 'stop',
    },
  ]);
});

test('--logformat json: prompt and reply are shown unless --quiet', () => {
  expect(requestFacts(chat({}, { content: true }).record, false)).toMatchObject({
    prompt: 'Once',
    reply: 'word word word ',
  });
  expect(exchangeLog({ object: () => undefined }, { quiet: false }).content).toBe(true);
  const quiet = requestFacts(chat({}, { content: true }).record, true);
  expect(JSON.stringify(quiet)).not.toMatch(/Once|word/);
});

test('--logformat json: a refused request has its error; --quiet hides what the parser quotes', () => {
  const { record } = exchange();
  record.errored(new AppError('invalid-json', { reason: 'dear diary is no JSON' }));
  record.replied(400);
  record.ended('sent');
  expect(requestFacts(record, true)).toMatchObject({
    level: 'warn',
    event: 'refused',
    status: 400,
    outcome: 'failed',
    error: { code: 'invalid-json', message: 'The request body is not valid JSON.' },
  });
  expect(requestFacts(record, false)).toMatchObject({ error: { message: expect.stringContaining('dear diary') } });
});

test('--logformat json: looking something up is of level debug, a failure of the server of level error', () => {
  const look = exchange({ method: 'GET', endpoint: '/health' }).record;
  look.replied(200);
  look.ended('sent');
  expect(requestFacts(look, true)).toMatchObject({ level: 'debug', event: 'request' });
  const cut = chat().record;
  cut.ended('failed');
  expect(requestFacts(cut, true)).toMatchObject({ level: 'error', outcome: 'cut-off' });
});

test('--logformat json: an error at the start is an object', () => {
  const written: string[] = [];
  failAsJson({ write: (text) => written.push(text) }, now)('The port is taken.');
  expect(JSON.parse(written.join(''))).toEqual({ time, level: 'error', event: 'message', text: 'The port is taken.' });
});
