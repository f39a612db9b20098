import { describe, expect, test } from 'vitest';
import { jsonConfig, withTomlEntries } from './config-text.ts';

const server = { url: 'http://127.0.0.1:1', model: 'm', contextSize: 65_536, webSearch: false, key: 'k' };

describe('jsonConfig', () => {
  const config = jsonConfig(
    () => '',
    () => ({ env: { A: '1' }, list: [2] }),
  );

  test('merges objects, replaces other values and keeps the rest', () => {
    const text = JSON.stringify({ env: { A: '0', B: '2' }, list: [1], theme: 'dark' });
    expect(JSON.parse(config.withServer(text, server))).toEqual({ env: { A: '1', B: '2' }, list: [2], theme: 'dark' });
  });

  test('writes a new file, and fills an empty one', () => {
    const whole = '{\n  "env": {\n    "A": "1"\n  },\n  "list": [\n    2\n  ]\n}\n';
    expect([undefined, ' '].map((text) => config.withServer(text, server))).toEqual([whole, whole]);
  });

  test.each(['[1]', '{ // comment\n}', '{"a":'])('refuses %j', (text) => {
    expect(() => config.withServer(text, server)).toThrow('not a JSON object');
  });
});

describe('withTomlEntries', () => {
  const top = { model: 'a "b"', window: 5 };
  const table = { name: 'providers.own', entries: { url: 'http://x', flag: false } };
  const ownTable = ['[providers.own]', 'url = "http://x"', 'flag = false'];

  test('replaces keys at the top and the table of the same name', () => {
    const text = '# mine\nmodel = "old"\nother = 1\n\n[providers.own]\nurl = "old"\n[tui]\nmodel = "stays"\n';
    expect(withTomlEntries(text, top, table).split('\n')).toEqual([
      'model = "a \\"b\\""',
      'window = 5',
      '# mine',
      'other = 1',
      '',
      '[tui]',
      'model = "stays"',
      ...ownTable,
      '',
    ]);
  });

  test('an empty file', () => {
    expect(withTomlEntries('', top, table)).toBe(`model = "a \\"b\\""\nwindow = 5\n${ownTable.join('\n')}\n`);
  });

  test('a value of several lines is refused', () => {
    expect(() => withTomlEntries('model = """\na\n"""\n', top, table)).toThrow('its key model has a value of several');
  });
});
