import { describe, expect, test } from 'vitest';
import { bodySecrets, redacted, redactedHeaders, redactor, sentSecrets } from './redact.ts';

describe('redactedHeaders', () => {
  test.each([
    'authorization',
    'Authorization',
    'x-api-key',
    'api-key',
    'apikey',
    'x-goog-api-key',
    'xi-api-key',
    'cookie',
    'set-cookie',
    'proxy-authorization',
    'proxy-anything',
    'x-auth-token',
    'x-amz-security-token',
    'x-session-id',
  ])('%s: its name is shown, its value is not', (name) => {
    expect(redactedHeaders({ [name]: 'marked' })).toEqual({ [name]: redacted });
  });

  test('other headers are shown, with all of their values', () => {
    const headers = { 'user-agent': 'app/1', accept: ['a', 'b'], host: undefined, 'x-parley-dropped-tokens': '3' };
    expect(redactedHeaders(headers)).toEqual({
      'user-agent': 'app/1',
      accept: 'a, b',
      'x-parley-dropped-tokens': '3',
    });
  });

  test('CORS headers are shown', () => {
    expect(redactedHeaders({ 'access-control-allow-headers': 'Authorization, apikey' })).toEqual({
      'access-control-allow-headers': 'Authorization, apikey',
    });
  });

  test('a key in the address of a page is taken out', () => {
    expect(redactedHeaders({ referer: 'http://h/x?a=1&key=marked#top' })).toEqual({
      referer: `http://h/x?a=1&key=${redacted}#top`,
    });
  });
});

describe('sentSecrets', () => {
  test('the credentials with and without the scheme, and the password of a basic one', () => {
    expect(sentSecrets({ authorization: 'Bearer sk-marked' })).toEqual(['Bearer sk-marked', 'sk-marked']);
    const basic = Buffer.from('me:marked-one').toString('base64');
    expect(sentSecrets({ authorization: `Basic ${basic}` })).toContain('marked-one');
    expect(sentSecrets({ 'x-api-key': 'marked' })).toEqual(['marked']);
  });

  test('short words are not treated as secrets', () => {
    expect(sentSecrets({ authorization: 'Bearer none' })).toEqual(['Bearer none']);
    expect(sentSecrets({ 'x-api-key': 'x' })).toEqual([]);
  });
});

describe('bodySecrets', () => {
  test.each([
    '{"tools":[{"type":"mcp","authorization":"marked-one"}]}',
    '{"mcp_servers":[{"authorization_token" : "marked-one"}]}',
    '{"headers":{"Authorization":"Bearer marked-one","a":"b"}}',
    '{"headers":{"x-my-token":"marked-one"}}',
    '{"headers":{"x-api-key":"marked-one"',
    '{"authorization":"marked-\\u006fne',
  ])('the credentials that a client sends for other servers: %s', (body) => {
    expect(bodySecrets(body)).toContain('marked-one');
  });

  test('other fields have none', () => {
    expect(bodySecrets('{"messages":[{"content":"authorization: everything"}],"eos_token":"<|im_end|>"}')).toEqual([]);
  });
});

describe('redactor', () => {
  test('takes secrets out of all texts, at any depth', () => {
    const clean = redactor(['hush']);
    expect(clean({ a: 'say hush now', b: [{ c: 'hushhush' }], d: 5, e: null })).toEqual({
      a: `say ${redacted} now`,
      b: [{ c: `${redacted}${redacted}` }],
      d: 5,
      e: null,
    });
  });

  test('finds a secret in JSON text, where it is escaped', () => {
    const secret = 'a"b\\c';
    expect(redactor([secret])(JSON.stringify({ key: secret }))).toBe(`{"key":"${redacted}"}`);
  });

  test('takes the longer one of two secrets first', () => {
    expect(redactor(['abc', 'abcdef'])('x abcdef y')).toBe(`x ${redacted} y`);
  });

  test('names of fields: only long secrets are taken out, so that a short password does not change the form', () => {
    expect(redactor(['id'])({ neutral: { id: 'my id' } })).toEqual({ neutral: { id: `my ${redacted}` } });
    expect(redactor(['marked-key'])({ neutral: { 'marked-key': 1 } })).toEqual({ neutral: { [redacted]: 1 } });
  });

  test('names of our own format are never taken out', () => {
    expect(redactor(['requests'])({ requests: [{ path: '/requests' }] })).toEqual({
      requests: [{ path: `/${redacted}` }],
    });
  });

  test.each([
    ['http://me:marked@host/a', `http://${redacted}@host/a`],
    [
      '{"url":"https://host/a.png?size=1&access_token=marked&x=2"}',
      `{"url":"https://host/a.png?size=1&access_token=${redacted}&x=2"}`,
    ],
    ['ftp://marked@host/', `ftp://${redacted}@host/`],
    [
      'Is 1 > 0? Write to me@example.org, or http://host/a?page=2.',
      'Is 1 > 0? Write to me@example.org, or http://host/a?page=2.',
    ],
  ])('addresses: %s', (text, expected) => {
    expect(redactor([])(text)).toBe(expected);
  });

  test('the time is linear in the text', () => {
    const clean = redactor(['marked-key']);
    for (const part of ['?key', '://a@', 'key', 'a://', '&', '?token=']) {
      expect(typeof clean(`?${part.repeat(200_000)}`)).toBe('string');
      expect(typeof clean(`http://${part.repeat(200_000)}`)).toBe('string');
    }
  });

  test('an empty password strikes nothing', () => {
    expect(redactor([''])('text')).toBe('text');
  });

  test('takes keys and passwords out of addresses', () => {
    const body = '{"url":"https://me:marked@h/a.png?size=3&token=marked&x=1"}';
    expect(redactor([])(body)).toBe(`{"url":"https://${redacted}@h/a.png?size=3&token=${redacted}&x=1"}`);
    expect(redactor([])('mail me@h or ask a?token=b')).toBe('mail me@h or ask a?token=b');
  });
});
