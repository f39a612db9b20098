import { expect, test } from 'vitest';
import { hideSecrets, withoutQuote } from './hide-secrets.ts';

test.each([
  ['no address: a://b', 'no address: a://b'],
  ['https://host/path says no', 'https://host/path says no'],
  ['cannot reach https://me:word@host:8080/a?token=b#c', 'cannot reach https://…@host:8080/a?…#c'],
  ['"http://word@host/", (http://host/a?b=c)', '"http://…@host/", (http://host/a?…'],
  ['mail to me@host.example', 'mail to me@host.example'],
  ['two: http://a/?x=1 http://b/?y=2', 'two: http://a/?… http://b/?…'],
])('hideSecrets: %s', (text, shown) => {
  expect(hideSecrets(text)).toBe(shown);
});

test('hideSecrets: hides each secret in every form that texts have', () => {
  const secret = 'a "word"/b';
  const text = `plain ${secret}, in JSON ${JSON.stringify({ secret })}, in a query ${encodeURIComponent(secret)}`;
  expect(hideSecrets(text, [secret])).toBe('plain …, in JSON {"secret":"…"}, in a query …');
});

test('hideSecrets: leaves ordinary words alone: secrets that are short or unknown', () => {
  expect(hideSecrets('it is true, on port 5001', ['true', '5001', '', undefined])).toBe('it is true, on port 5001');
});

test('hideSecrets: takes linear time', () => {
  const long = `http://${'a:@'.repeat(200_000)} ${'x://'.repeat(200_000)}`;
  expect(hideSecrets(long).length).toBeLessThanOrEqual(long.length);
});

test.each([
  '{"token": secret}',
  '{"a": {"long enough": "that the parser shortens it", "token": secret, "b": 1}}',
  '["secret"',
])('withoutQuote: leaves nothing of %s', (text) => {
  let message = '';
  try {
    JSON.parse(text);
  } catch (error) {
    message = withoutQuote((error as Error).message);
  }
  expect(message).not.toBe('');
  expect(message).not.toContain('secret');
});
