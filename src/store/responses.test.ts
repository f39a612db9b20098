import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ResponseStore, type StoredResponse } from './responses.ts';

const message = (id: string, text = '') => ({ id, type: 'message', text });

function stored(id: string, more: Partial<StoredResponse> = {}): StoredResponse {
  return { id, response: { id }, context: [], input: [message(`in-${id}`)], output: [message(`out-${id}`)], ...more };
}

const generous = { responses: 100, bytes: 1_000_000 };

test('a response and the items around it are found until it is deleted', () => {
  const store = new ResponseStore(generous);
  expect(store.put(stored('a'))).toBe(true);
  expect(store.get('a')).toEqual(stored('a'));
  expect(store.item('in-a')).toEqual(message('in-a'));
  expect(store.item('out-a')).toEqual(message('out-a'));
  expect(store.delete('a')).toBe(true);
  expect(store.delete('a')).toBe(false);
  expect([store.get('a'), store.item('in-a'), store.size, store.bytes]).toEqual([undefined, undefined, 0, 0]);
});

test('past the number of responses the oldest goes first', () => {
  const store = new ResponseStore({ ...generous, responses: 2 });
  for (const id of ['a', 'b', 'c']) store.put(stored(id));
  expect(['a', 'b', 'c'].map((id) => store.get(id) !== undefined)).toEqual([false, true, true]);
  expect(store.item('out-a')).toBeUndefined();
});

test('past the bytes the oldest goes first, as many as it takes', () => {
  const store = new ResponseStore({ ...generous, bytes: 1000 });
  for (const id of ['a', 'b', 'c']) store.put(stored(id));
  store.put(stored('d', { context: [message('long', 'x'.repeat(700))] }));
  expect(['a', 'b', 'c', 'd'].map((id) => store.get(id) !== undefined)).toEqual([false, false, false, true]);
});

test('one that is larger than everything together is not kept, and drops nothing', () => {
  const store = new ResponseStore({ ...generous, bytes: 1000 });
  store.put(stored('a'));
  expect(store.put(stored('b', { input: [message('long', 'x'.repeat(1000))] }))).toBe(false);
  expect([store.get('a')?.id, store.get('b')]).toEqual(['a', undefined]);
});

test('a response put again takes the place of the first', () => {
  const store = new ResponseStore(generous);
  store.put(stored('a', { output: [] }));
  store.put(stored('a'));
  expect([store.size, store.get('a')?.output.length]).toEqual([1, 1]);
});

test('an item that a later response holds too is still found when the earlier one is gone', () => {
  const store = new ResponseStore(generous);
  store.put(stored('a'));
  store.put(stored('b', { input: [message('out-a')] }));
  store.delete('a');
  expect(store.item('out-a')).toEqual(message('out-a'));
});

test('whatever is put and deleted, the bounds hold and an empty store counts nothing', () => {
  const step = fc.record({ id: fc.constantFrom('a', 'b', 'c', 'd'), length: fc.nat(600), remove: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const store = new ResponseStore({ responses: 3, bytes: 1500 });
      for (const { id, length, remove } of steps) {
        if (remove) store.delete(id);
        else store.put(stored(id, { input: [message('shared', 'x'.repeat(length))] }));
        expect(store.size).toBeLessThanOrEqual(3);
        expect(store.bytes).toBeLessThanOrEqual(1500);
      }
      for (const id of ['a', 'b', 'c', 'd']) store.delete(id);
      expect([store.size, store.bytes, store.item('shared')]).toEqual([0, 0, undefined]);
    }),
  );
});
