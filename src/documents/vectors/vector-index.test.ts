import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../../bench/seeded-random.ts';
import { dotProductsFor, plainDotProducts } from './dot-products.ts';
import { byteVector, VectorIndex } from './vector-index.ts';

/** Vectors around a few centres, as texts about a few subjects have them. */
function vectors(count: number, dimensions: number, seed: number): Float32Array[] {
  const random = seededRandom(seed);
  const spread = () => random() + random() + random() - 1.5;
  const centres = Array.from({ length: 20 }, () => Float32Array.from({ length: dimensions }, spread));
  return Array.from({ length: count }, (_, index) => {
    const centre = centres[index % centres.length] as Float32Array;
    return centre.map((number) => number + 0.7 * spread());
  });
}

function cosine(one: Float32Array, other: Float32Array): number {
  let [product, left, right] = [0, 0, 0];
  for (let index = 0; index < one.length; index += 1) {
    const [a = 0, b = 0] = [one[index], other[index]];
    product += a * b;
    left += a * a;
    right += b * b;
  }
  return product / Math.sqrt(left * right);
}

describe('dotProducts', () => {
  test('with SIMD gives the numbers of the plain loop', () => {
    const bytes = fc.integer({ min: -127, max: 127 });
    const input = fc.record({ steps: fc.integer({ min: 1, max: 5 }), rows: fc.integer({ min: 1, max: 9 }) });
    fc.assert(
      fc.property(input, fc.infiniteStream(bytes), ({ steps, rows }, numbers) => {
        const dimensions = 16 * steps;
        const query = Int16Array.from({ length: dimensions }, () => numbers.next().value);
        const all = Int8Array.from({ length: rows * dimensions }, () => numbers.next().value);
        const [simd, plain] = [dotProductsFor(1), plainDotProducts(1)].map((program) => {
          const { buffer } = program.memory;
          new Int16Array(buffer, 0, dimensions).set(query);
          new Int8Array(buffer, 1024, all.length).set(all);
          program.run(0, 1024, 1024 + all.length, dimensions, 4096);
          return [...new Int32Array(buffer, 4096, rows)];
        });
        expect(simd).toEqual(plain);
      }),
    );
  });
});

describe('VectorIndex', () => {
  test('finds in 8 bits what is nearest in 32 bits: recall of the first 10 and 50 at least 0.97', () => {
    const dimensions = 384;
    const all = vectors(5000, dimensions, 1);
    const index = new VectorIndex(dimensions);
    for (const [id, vector] of all.entries()) index.set(id, 0, byteVector(vector));
    const recalls = { 10: [] as number[], 50: [] as number[] };
    for (const query of vectors(20, dimensions, 2)) {
      const exact = all.map((vector, id) => ({ id, similarity: cosine(query, vector) }));
      exact.sort((one, other) => other.similarity - one.similarity);
      const found = index.search(query, 50);
      expect(Math.abs((found[0]?.similarity ?? 0) - (exact[0]?.similarity ?? 0))).toBeLessThan(0.01);
      for (const limit of [10, 50] as const) {
        const wanted = new Set(exact.slice(0, limit).map(({ id }) => id));
        recalls[limit].push(found.slice(0, limit).filter(({ id }) => wanted.has(id)).length / limit);
      }
    }
    const mean = (numbers: readonly number[]) => numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
    expect(mean(recalls[10])).toBeGreaterThan(0.97);
    expect(mean(recalls[50])).toBeGreaterThan(0.97);
  });

  test('has after any changes what was set and not deleted, with and without SIMD', () => {
    const change = fc.record({ id: fc.nat(30), group: fc.nat(3), isDeleted: fc.boolean(), seed: fc.nat(1000) });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 60 }), fc.nat(1000), (changes, seed) => {
        const indexes = [new VectorIndex(20), new VectorIndex(20, plainDotProducts)];
        const model = new Map<number, { readonly group: number; readonly vector: Float32Array }>();
        for (const { id, group, isDeleted, seed: own } of changes) {
          const [vector = new Float32Array(20)] = vectors(1, 20, own);
          for (const index of indexes) isDeleted ? index.delete(id) : index.set(id, group, byteVector(vector));
          if (isDeleted) model.delete(id);
          else model.set(id, { group, vector });
        }
        const [query = new Float32Array(20)] = vectors(1, 20, seed);
        const found = indexes.map((index) => index.search(query, 100, (group) => group !== 1));
        expect(found[0]).toEqual(found[1]);
        const wanted = [...model].filter(([, { group }]) => group !== 1).map(([id]) => id);
        expect(found[0]?.map(({ id }) => id).sort((a, b) => a - b)).toEqual(wanted.sort((a, b) => a - b));
        expect(indexes[0]?.size).toBe(model.size);
        for (const { id, similarity } of found[0] ?? [])
          expect(similarity).toBeCloseTo(cosine(query, model.get(id)?.vector as Float32Array), 1);
        const [first] = found[0] ?? [];
        if (first) expect(indexes[0]?.similarities(query, [first.id, 99]).get(first.id)).toBe(first.similarity);
      }),
    );
  });

  test('keeps more rows than a block, and the best of all', () => {
    const all = vectors(9000, 16, 3);
    const index = new VectorIndex(16);
    for (const [id, vector] of all.entries()) index.set(id, id, byteVector(vector));
    const found = index.search(all[8999] as Float32Array, 3);
    expect(found[0]?.id).toBe(8999);
    expect(found).toHaveLength(3);
    expect(index.search(all[8999] as Float32Array, 0)).toEqual([]);
  });

  test('takes a vector that is no direction as like no other', () => {
    const index = new VectorIndex(4);
    index.set(1, 0, byteVector(new Float32Array([Number.NaN, 1, 0, 0])));
    index.set(2, 0, byteVector(new Float32Array(4)));
    index.set(3, 0, byteVector(new Float32Array([1, 0, 0, 0])));
    expect(index.search(new Float32Array([1, 0, 0, 0]), 3).map(({ similarity }) => similarity)).toEqual([
      expect.closeTo(1, 5),
      0,
      0,
    ]);
  });
});
