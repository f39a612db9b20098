import fc from 'fast-check';
import { expect, test } from 'vitest';
import { differences } from './difference.ts';
import { preview } from './preview.ts';

test('preview: is the same for small JSON', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
      expect(JSON.stringify(preview(value, 1e6))).toBe(JSON.stringify(value));
    }),
  );
});

test('preview: shows a member with the name __proto__', () => {
  const sent = '{"__proto__":{"a":1},"b":2}';
  expect(JSON.stringify(preview(JSON.parse(sent), 1000))).toBe(sent);
});

test('preview: its size is bounded, whatever the value', () => {
  const deep: unknown[] = [];
  let inner = deep;
  for (let depth = 0; depth < 10_000; depth += 1) {
    const next: unknown[] = [];
    inner.push(next);
    inner = next;
  }
  const values = ['x'.repeat(1e6), Array.from({ length: 1e5 }, () => 'word'), deep, { a: { b: 'x'.repeat(1e6) } }];
  for (const value of values) expect(JSON.stringify(preview(value, 1000)).length).toBeLessThan(5000);
});

test('differences: names what differs, at any depth', () => {
  const was = {
    a: 1,
    b: { c: [1, { d: 'x' }] },
    e: undefined,
    calls: [{ json: '{"a": 1}' }],
    media: [{ format: 'png' }],
  };
  const becomes = { a: 1, b: { c: [1, { d: 'y' }] }, f: 2, calls: [{ json: '{"a":1}' }], media: [{}] };
  expect(differences(was, becomes)).toEqual([
    { field: 'b.c[1].d', was: 'x', becomes: 'y' },
    { field: 'f', was: null, becomes: 2 },
  ]);
});

test('differences: none between equal values', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => void expect(differences(value, structuredClone(value))).toEqual([])),
  );
});
