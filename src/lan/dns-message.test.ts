import { describe, expect, test } from 'vitest';
import { type DnsMessage, decodeMessage, encodeMessage, recordTypes } from './dns-message.ts';

const message: DnsMessage = {
  id: 7,
  isResponse: true,
  questions: [{ name: 'parley.local', type: recordTypes.ANY, unicast: true }],
  answers: [{ name: 'parley.local', type: recordTypes.A, ttl: 120, data: Buffer.from([192, 168, 1, 5]), flush: true }],
  authorities: [{ name: 'desk.local', type: recordTypes.AAAA, ttl: 70_000, data: Buffer.alloc(16, 3), flush: false }],
};

/** A small generator, so that every run tries the same. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

describe('decodeMessage', () => {
  test('reads what encodeMessage wrote', () => {
    expect(decodeMessage(encodeMessage(message))).toEqual(message);
  });

  test('follows pointers, and makes names lower-case', () => {
    const question = Buffer.from('000000000001000100000000065061726c6579054c4f43414c0000ff0001', 'hex');
    const answer = Buffer.from('c00c0001800100000078000401020304', 'hex');
    expect(decodeMessage(Buffer.concat([question, answer]))?.answers).toEqual([
      { name: 'parley.local', type: 1, ttl: 120, data: Buffer.from([1, 2, 3, 4]), flush: true },
    ]);
  });

  test.each([
    ['a pointer to itself', '000000000001000000000000c00c00ff0001'],
    ['a pointer forwards', '000000000001000000000000c01000ff0001'],
    ['pointers in a circle', '00000000000100000000000001610161c00c00ff0001c00e'],
    ['a name without an end', `000000000001000000000000${'0161'.repeat(200)}`],
    ['an unknown kind of label', '0000000000010000000000004161'],
    ['data beyond the end', '00000000000000010000000000000100010000007800ff01'],
    ['more entries than it has', '00000000ffffffffffffffff'],
    ['no header', '0000'],
  ])('refuses %s', (_, hex) => {
    expect(decodeMessage(Buffer.from(hex, 'hex'))).toBeUndefined();
  });

  test('never throws, whatever bytes arrive', () => {
    const next = numbers(40);
    const valid = encodeMessage(message);
    for (let turn = 0; turn < 50_000; turn++) {
      const bytes = turn % 2 === 0 ? Buffer.from(valid) : Buffer.alloc(Math.floor(next() * 80));
      if (turn % 2 === 1) for (const index of bytes.keys()) bytes[index] = Math.floor(next() * 256);
      for (let change = 0; change < 3; change++) bytes[Math.floor(next() * bytes.length)] = Math.floor(next() * 256);
      decodeMessage(bytes.subarray(0, Math.floor(next() * (bytes.length + 1))));
    }
  });
});
