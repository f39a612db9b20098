import fc from 'fast-check';
import { expect, test } from 'vitest';
import { noKey } from '../core/owner.ts';
import { ResponseStore as Responses, type StoredResponse } from './responses.ts';

const message = (id: string, text = '') => ({ id, type: 'message', text });

function stored(id: string, more: Partial<StoredResponse> = {}): StoredResponse {
  return { id, response: { id }, context: [], input: [message(`in-${id}`)], output: [message(`out-${id}`)], ...more };
}

/** With the view of one owner. */
class ResponseStore extends Responses {
  readonly #own = this.of(noKey);
  readonly put = this.#own.put;
  readonly get = this.#own.get;
  readonly item = this.#own.item;
  readonly delete = this.#own.delete;
}

const generous = { responses: 100, bytes: 1_000_000 };

test('ResponseStore: finds a response and its items until it is deleted', () => {
  const store = new ResponseStore(generous);
  expect(store.put(stored('a'))).toBe(true);
  expect(store.get('a')).toEqual(stored('a'));
  expect(store.item('in-a')).toEqual(message('in-a'));
  expect(store.item('out-a')).toEqual(message('out-a'));
  expect(store.delete('a')).toBe(true);
  expect(store.delete('a')).toBe(false);
  expect([store.get('a'), store.item('in-a'), store.size, store.bytes]).toEqual([undefined, undefined, 0, 0]);
});

test('ResponseStore: drops the oldest response beyond the number', () => {
  const store = new ResponseStore({ ...generous, responses: 2 });
  for (const id of ['a', 'b', 'c']) store.put(stored(id));
  expect(['a', 'b', 'c'].map((id) => store.get(id) !== undefined)).toEqual([false, true, true]);
  expect(store.item('out-a')).toBeUndefined();
});

test('ResponseStore: drops the oldest responses beyond the bytes', () => {
  const store = new ResponseStore({ ...generous, bytes: 1000 });
  for (const id of ['a', 'b', 'c']) store.put(stored(id));
  store.put(stored('d', { context: [message('long', 'x'.repeat(700))] }));
  expect(['a', 'b', 'c', 'd'].map((id) => store.get(id) !== undefined)).toEqual([false, false, false, true]);
});

test('ResponseStore: refuses a response that is larger than the store, and drops nothing', () => {
  const store = new ResponseStore({ ...generous, bytes: 1000 });
  store.put(stored('a'));
  expect(store.put(stored('b', { input: [message('long', 'x'.repeat(1000))] }))).toBe(false);
  expect([store.get('a')?.id, store.get('b')]).toEqual(['a', undefined]);
});

test('ResponseStore: replaces a response of the same id', () => {
  const store = new ResponseStore(generous);
  store.put(stored('a', { output: [] }));
  store.put(stored('a'));
  expect([store.size, store.get('a')?.output.length]).toEqual([1, 1]);
});

test('ResponseStore: finds an item that a later response shares', () => {
  const store = new ResponseStore(generous);
  store.put(stored('a'));
  store.put(stored('b', { input: [message('out-a')] }));
  store.delete('a');
  expect(store.item('out-a')).toEqual(message('out-a'));
});

test('ResponseStore: stays within its limits after any operations, and is empty at the end', () => {
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

test('ResponseStore: an owner neither sees, replaces nor deletes responses and items of another, whatever ids it uses', () => {
  const store = new Responses(generous);
  const [mine, theirs] = [store.of('key a'), store.of('key b')];
  mine.put(stored('a', { input: [message('note', 'mine')] }));
  expect([theirs.get('a'), theirs.item('note'), theirs.item('out-a'), theirs.delete('a')]).toEqual([
    undefined,
    undefined,
    undefined,
    false,
  ]);
  theirs.put(stored('a', { input: [message('note', 'theirs')] }));
  expect([mine.item('note'), theirs.item('note')]).toEqual([message('note', 'mine'), message('note', 'theirs')]);
  theirs.delete('a');
  expect(mine.get('a')?.input).toEqual([message('note', 'mine')]);
});

test('ResponseStore: an owner with many responses does not push out those of another', () => {
  const store = new Responses({ ...generous, responses: 5 });
  store.of('key a').put(stored('old'));
  for (let index = 0; index < 20; index++) store.of('key b').put(stored(`new-${index}`));
  expect(store.of('key a').get('old')?.id).toBe('old');
  expect([store.size, store.of('key b').get('new-19')?.id]).toEqual([5, 'new-19']);
});
