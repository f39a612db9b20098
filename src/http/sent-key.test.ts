import { describe, expect, test } from 'vitest';
import { sentKey } from './sent-key.ts';

const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` });

describe('the key that came along', () => {
  test.each([
    [{ authorization: 'Bearer secret' }, 'secret'],
    [{ authorization: 'bearer   secret ' }, 'secret'],
    [{ 'x-api-key': ' secret' }, 'secret'],
    [{ 'api-key': 'secret' }, 'secret'],
    [basic('anybody:secret'), 'secret'],
    [basic(':se:cret'), 'se:cret'],
  ])('is found in %j', (headers, key) => expect(sentKey(headers)).toBe(key));

  test.each([
    [{}],
    [{ authorization: '' }],
    [basic('')],
    [basic('nobody')],
    [basic('nobody:')],
    [{ authorization: 'Basic !!' }],
  ])('is none in %j', (headers) => expect(sentKey(headers)).toBeUndefined());

  test('is the one of a header of its own where the pair has none', () => {
    expect(sentKey({ ...basic('nobody:'), 'x-api-key': 'secret' })).toBe('secret');
  });
});
