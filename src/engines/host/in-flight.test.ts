import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { plainRequest } from '../../core/testing/plain-request.ts';
import { CrashSuspects, fingerprint } from './in-flight.ts';

test('CrashSuspects: a request that was in no crash is free', () => {
  const suspects = new CrashSuspects();
  expect([suspects.size, suspects.verdict('a')]).toEqual([0, 'free']);
  suspects.crashed([]);
  expect(suspects.size).toBe(0);
});

test('CrashSuspects: all requests of a crash run alone next, and none is rejected', () => {
  const suspects = new CrashSuspects();
  suspects.crashed(['a', 'b']);
  expect(['a', 'b', 'c'].map((one) => suspects.verdict(one))).toEqual(['alone', 'alone', 'free']);
});

test('CrashSuspects: a request that crashes the engine alone is rejected from then on', () => {
  const suspects = new CrashSuspects();
  suspects.crashed(['a', 'b']);
  suspects.crashed(['a']);
  suspects.survived('b');
  expect(['a', 'b'].map((one) => suspects.verdict(one))).toEqual(['refused', 'free']);
  suspects.crashed(['a', 'b']);
  expect(suspects.verdict('a')).toBe('refused');
});

test('CrashSuspects: two equal concurrent requests are one suspect, and the second crash rejects it', () => {
  const suspects = new CrashSuspects();
  suspects.crashed(['a', 'a']);
  expect(suspects.verdict('a')).toBe('alone');
  suspects.crashed(['a', 'a']);
  expect(suspects.verdict('a')).toBe('refused');
});

test('CrashSuspects: a crash without requests changes nothing', () => {
  const suspects = new CrashSuspects();
  suspects.crashed(['a']);
  suspects.crashed([]);
  expect(suspects.verdict('a')).toBe('alone');
});

test('CrashSuspects: forgets the oldest suspect beyond the limit', () => {
  const suspects = new CrashSuspects();
  for (let number = 0; number < 101; number += 1) suspects.crashed([`r${number}`]);
  expect(suspects.size).toBe(100);
  expect(['r0', 'r1', 'r100'].map((one) => suspects.verdict(one))).toEqual(['free', 'alone', 'alone']);
});

const names = fc.constantFrom('a', 'b', 'c', 'd', 'e');
type Happening =
  | { readonly type: 'crash'; readonly running: readonly string[] }
  | { readonly type: 'end'; readonly name: string };
const happenings: fc.Arbitrary<readonly Happening[]> = fc.array(
  fc.oneof(
    fc.record({ type: fc.constant('crash' as const), running: fc.array(names, { maxLength: 4 }) }),
    fc.record({ type: fc.constant('end' as const), name: names }),
  ),
);

test('CrashSuspects: rejects only after two consecutive crashes, the second one alone, for any history', () => {
  fc.assert(
    fc.property(happenings, (story) => {
      const suspects = new CrashSuspects();
      const crashesInARow = new Map<string, number>();
      const guilty = new Set<string>();
      for (const happening of story) {
        if (happening.type === 'end') {
          suspects.survived(happening.name);
          crashesInARow.delete(happening.name);
          guilty.delete(happening.name);
          continue;
        }
        suspects.crashed(happening.running);
        const running = new Set(happening.running);
        for (const name of running) {
          const crashes = (crashesInARow.get(name) ?? 0) + 1;
          crashesInARow.set(name, crashes);
          if (crashes >= 2 && running.size === 1) guilty.add(name);
        }
      }
      for (const name of ['a', 'b', 'c', 'd', 'e']) {
        expect(suspects.verdict(name) === 'refused').toBe(guilty.has(name));
      }
    }),
  );
});

test('CrashSuspects: finds the crashing request in its second run, and rejects no other one', () => {
  fc.assert(
    fc.property(fc.array(fc.subarray(['a', 'b', 'c', 'd'])), fc.boolean(), (crowds, eager) => {
      const suspects = new CrashSuspects();
      let runsOfBad = 0;
      /** Runs these as an engine does: suspects one after the other, the others together. */
      const serve = (requests: readonly string[]) => {
        const allowed = requests.filter((one) => suspects.verdict(one) !== 'refused');
        const alone = allowed.filter((one) => suspects.verdict(one) === 'alone').map((one) => [one]);
        const together = allowed.filter((one) => suspects.verdict(one) === 'free');
        for (const running of eager ? [together, ...alone] : [...alone, together]) {
          if (running.includes('bad')) {
            runsOfBad += 1;
            suspects.crashed(running);
          } else for (const one of running) suspects.survived(one);
        }
      };
      for (const crowd of crowds) serve([...crowd, 'bad']);
      expect(runsOfBad).toBe(Math.min(2, crowds.length));
      for (const one of ['a', 'b', 'c', 'd']) expect(suspects.verdict(one)).not.toBe('refused');
    }),
  );
});

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

test('fingerprint: does not depend on the order of fields', () => {
  fc.assert(
    fc.property(json, (content) => {
      expect(fingerprint(reversed(content))).toBe(fingerprint(content));
    }),
  );
});

test('fingerprint: equal only for equal contents', () => {
  fc.assert(
    fc.property(json, json, (a, b) => {
      const travelled = [a, b].map((content) => JSON.parse(JSON.stringify(content)));
      expect(fingerprint(a) === fingerprint(b)).toBe(isDeepStrictEqual(travelled[0], travelled[1]));
    }),
  );
});

test('fingerprint: ignores undefined fields', () => {
  expect(fingerprint({ a: 1, b: undefined })).toBe(fingerprint({ a: 1 }));
});

test('fingerprint: depends on the order of a list', () => {
  expect(fingerprint({ stop: ['a', 'b'] })).not.toBe(fingerprint({ stop: ['b', 'a'] }));
});

test('fingerprint: is short for any content', () => {
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
])('fingerprint: differs if %s differs', (_, other) => {
  expect(fingerprint(other)).not.toBe(fingerprint(request));
});
