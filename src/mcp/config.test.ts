import { posix } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ConfigError, readServers, secretsOf, withVariables } from './config.ts';

const options = { environment: { TOKEN: 'secret', EMPTY: '' }, folder: '/files', resolve: posix.resolve };
const read = (servers: unknown, key = 'mcpServers') => readServers(JSON.stringify({ [key]: servers }), options);
const refusal = (text: string): string => {
  try {
    readServers(text, options);
    return 'accepted';
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as Error).message;
  }
};

describe('readServers', () => {
  test('reads commands with arguments, environment and folder', () => {
    const entry = { command: 'npx', args: ['-y', 'files', 8080], env: { KEY: 'x', DEBUG: true }, cwd: 'data' };
    expect(read({ files: entry })).toEqual([
      {
        type: 'command',
        name: 'files',
        command: 'npx',
        args: ['-y', 'files', '8080'],
        env: { KEY: 'x', DEBUG: 'true' },
        folder: '/files/data',
      },
    ]);
  });

  test('commands run in the folder of the file without cwd', () => {
    expect(read({ a: { command: 'x' }, b: { command: 'x', cwd: '/elsewhere' } })).toMatchObject([
      { folder: '/files', args: [], env: {} },
      { folder: '/elsewhere' },
    ]);
  });

  test('reads addresses with headers; url takes precedence over command', () => {
    expect(read({ web: { url: 'https://tools.example/mcp', headers: { 'X-Key': 'k' }, command: 'x' } })).toEqual([
      { type: 'address', name: 'web', url: 'https://tools.example/mcp', headers: { 'X-Key': 'k' }, sse: false },
    ]);
  });

  test('type sse selects the older transport', () => {
    expect(read({ web: { url: 'http://localhost/sse', type: 'sse' } })).toMatchObject([{ sse: true }]);
  });

  test('accepts the key servers, and keeps the order', () => {
    const names = read({ z: { command: 'x' }, a: { url: 'http://a' } }, 'servers').map(({ name }) => name);
    expect(names).toEqual(['z', 'a']);
  });

  test('skips disabled servers and unknown fields', () => {
    const servers = {
      off: { disabled: true },
      on: { command: 'x', disabled: false, autoApprove: ['a'], type: 'stdio' },
    };
    expect(read(servers).map(({ name }) => name)).toEqual(['on']);
  });

  test('accepts a byte order mark', () => {
    expect(readServers('\ufeff{"mcpServers":{}}', options)).toEqual([]);
  });

  test('substitutes environment variables', () => {
    expect(read({ web: { url: 'http://a', headers: { authorization: `Bearer \${TOKEN}` } } })).toMatchObject([
      { headers: { authorization: 'Bearer secret' } },
    ]);
    expect(read({ a: { command: 'x', args: [`\${env:TOKEN}`, `\${NONE:-plain}`] } })).toMatchObject([
      { args: ['secret', 'plain'] },
    ]);
  });
});

test.each([
  [
    { command: 'x', env: { A: 'one' }, args: ['-y', 'package', '--token=two', '--api-key', 'three', 'a=b'] },
    'one two three',
  ],
  [{ url: 'http://me:w%20d@a/?b=c', headers: { authorization: 'Bearer d' } }, 'Bearer d d me w d c'],
  [{ url: 'http://a/b' }, ' '],
])('secretsOf: %j', (entry, secrets) => {
  expect(read({ a: entry }).flatMap(secretsOf).join(' ')).toBe(secrets);
});

test('readServers: an error quotes no header and nothing of the file', () => {
  expect(refusal('{"mcpServers":{"a":{"url":"http://a","headers":{"a":"secret\\n"}}}}')).not.toContain('secret');
  expect(refusal('{"mcpServers":{"a":{"url":"http://a","headers":{"a":secret}}}}')).not.toContain('secret');
});

describe('readServers: rejects with path and reason', () => {
  test.each([
    ['', 'it is not valid JSON'],
    ['{', 'it is not valid JSON'],
    ['[]', 'it must hold an object'],
    ['{}', 'it has no object "mcpServers"'],
    ['{"mcpServers":[]}', 'it has no object "mcpServers"'],
    ['{"mcpServers":{"a":"x"}}', 'mcpServers.a must be an object'],
    ['{"mcpServers":{"a":{}}}', 'mcpServers.a must have a command or a url'],
    ['{"mcpServers":{"a":{"command":""}}}', 'mcpServers.a.command must be a text'],
    ['{"mcpServers":{"a":{"command":["npx"]}}}', 'mcpServers.a.command must be a text'],
    ['{"mcpServers":{"a":{"command":"x","args":"y"}}}', 'mcpServers.a.args must be a list of texts'],
    ['{"mcpServers":{"a":{"command":"x","args":[null]}}}', 'mcpServers.a.args[0] must be a text'],
    ['{"mcpServers":{"a":{"command":"x","env":["y"]}}}', 'mcpServers.a.env must be an object of texts'],
    ['{"mcpServers":{"a":{"command":"x","env":{"k":{}}}}}', 'mcpServers.a.env.k must be a text'],
    ['{"mcpServers":{"a":{"command":"x","cwd":7}}}', 'mcpServers.a.cwd must be a text'],
    ['{"mcpServers":{"a":{"url":"file:///x"}}}', 'mcpServers.a.url must be an http or https address'],
    ['{"mcpServers":{"a":{"url":"nowhere"}}}', 'mcpServers.a.url must be an http or https address'],
    ['{"mcpServers":{"a":{"url":"http://a","headers":{"a b":"c"}}}}', 'mcpServers.a.headers cannot be sent'],
    [`{"mcpServers":{"a":{"command":"\${NONE}"}}}`, `mcpServers.a.command needs \${NONE}, which is not set`],
    [`{"mcpServers":{"a":{"command":"x","args":["\${EMPTY}"]}}}`, `mcpServers.a.args[0] needs \${EMPTY}`],
    [`{"mcpServers":{"a":{"command":"x","args":["\${input:key}"]}}}`, `mcpServers.a.args[0] needs \${input:key}`],
  ])('%s', (text, reason) => {
    expect(refusal(text)).toContain(reason);
  });

  test('any file is accepted or rejected with a ConfigError', () => {
    const field = fc.constantFrom('command', 'args', 'env', 'url', 'headers', 'cwd', 'disabled', 'type');
    const server = fc.dictionary(field, fc.jsonValue());
    fc.assert(
      fc.property(fc.dictionary(fc.string(), server), (mcpServers) => void refusal(JSON.stringify({ mcpServers }))),
    );
    fc.assert(fc.property(fc.string(), (text) => void refusal(text)));
  });
});

const environment = { NAME: 'value', EMPTY: '', _other1: 'x' };

test.each([
  ['plain', 'plain'],
  [`\${NAME}`, 'value'],
  [`a \${env:NAME} b \${NAME}`, 'a value b value'],
  [`\${_other1}`, 'x'],
  [`\${NONE:-else}`, 'else'],
  [`\${NONE:-}`, ''],
  [`\${NAME:-else}`, 'value'],
  [`\${EMPTY:-else}`, 'else'],
  ['$NAME and $5 stay', '$NAME and $5 stay'],
  [`\${`, `\${`],
])('withVariables: %s becomes %s', (text, expected) => {
  expect(withVariables(text, 'a', environment)).toBe(expected);
});

test('withVariables: does not substitute inside values', () => {
  expect(withVariables(`\${A}`, 'a', { A: `\${B}`, B: 'x' })).toBe(`\${B}`);
});

test.each([`\${NONE}`, `\${EMPTY}`, `\${}`, `\${input:secret}`, `\${a b}`])('withVariables: rejects %s', (text) => {
  expect(() => withVariables(`before ${text} after`, 'a', environment)).toThrow(
    new ConfigError(`a needs ${text}, which is not set in the environment of this server`),
  );
});
