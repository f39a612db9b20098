import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { plainRequest } from '../../run/request.ts';
import { fingerprint } from './fingerprint.ts';

const json = fc.jsonValue({ maxDepth: 4 });

/** The same content with the fields of every object the other way round. */
function reversed(content: unknown): unknown {
  if (Array.isArray(content)) return content.map(reversed);
  if (typeof content !== 'object' || content === null) return content;
  return Object.fromEntries(
    Object.entries(content)
      .map(([key, value]) => [key, reversed(value)])
      .reverse(),
  );
}

test('the same content has the same fingerprint, in whatever order its fields stand', () => {
  fc.assert(
    fc.property(json, (content) => {
      expect(fingerprint(reversed(content))).toBe(fingerprint(content));
    }),
  );
});

test('two contents have the same fingerprint only if they are the same', () => {
  fc.assert(
    fc.property(json, json, (a, b) => {
      const travelled = [a, b].map((content) => JSON.parse(JSON.stringify(content)));
      expect(fingerprint(a) === fingerprint(b)).toBe(isDeepStrictEqual(travelled[0], travelled[1]));
    }),
  );
});

test('fields without a value do not count', () => {
  expect(fingerprint({ a: 1, b: undefined })).toBe(fingerprint({ a: 1 }));
});

test('the order of a list counts', () => {
  expect(fingerprint({ stop: ['a', 'b'] })).not.toBe(fingerprint({ stop: ['b', 'a'] }));
});

test('it is short, whatever it stands for', () => {
  expect(fingerprint('x'.repeat(1_000_000))).toHaveLength(43);
});

const request = plainRequest('Hello', 5);
test.each([
  ['prompt', { ...request, prompt: 'Hello!' }],
  ['memory', { ...request, memory: 'x' }],
  ['length', { ...request, maxTokens: 6 }],
  ['sampling', { ...request, sampling: { ...request.sampling, temperature: 0.123 } }],
  ['grammar', { ...request, grammar: { gbnf: 'root ::= "a"', retainState: false } }],
  ['media', { ...request, media: [{ kind: 'image', base64: 'AAAA' }] }],
  ['stop texts', { ...request, stop: ['\n'] }],
])('requests that differ in %s differ', (_, other) => {
  expect(fingerprint(other)).not.toBe(fingerprint(request));
});
