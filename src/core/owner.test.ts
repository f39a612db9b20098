import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { entryToDrop, Libraries, libraryOf, noKey, ownerOf } from './owner.ts';

test('ownerOf: a key of the key file is an owner by its name, and everybody else is one owner', () => {
  expect([ownerOf({ key: { name: 'phone' } }), ownerOf({})]).toEqual(['key phone', noKey]);
});

test.each([
  [{}, noKey],
  [{ key: { name: 'old' } }, noKey],
  [{ key: { name: 'phone', shared: true } }, noKey],
  [{ key: { name: 'phone', shared: false } }, 'key phone'],
])('libraryOf: %j uses the library %s', (sender, library) => expect(libraryOf(sender)).toBe(library));

test('Libraries: makes one store for each library, on first use', () => {
  const made: string[] = [];
  const libraries = new Libraries((library) => {
    made.push(library);
    return { library };
  });
  const phone = { key: { name: 'phone', shared: false } };
  expect([libraries.of(phone), libraries.of({})]).toEqual([{ library: 'key phone' }, { library: noKey }]);
  expect(libraries.of(phone)).toBe(libraries.of(phone));
  expect(made).toEqual(['key phone', noKey]);
});

describe('entryToDrop', () => {
  const entry = (owner: string, size = 1, droppable = true) => ({ owner, size, droppable });

  test('takes the oldest entry of the owner who has the most', () => {
    const entries = [entry('a'), entry('b'), entry('b'), entry('c')];
    expect(entryToDrop(entries, 'c')).toBe(entries[1]);
  });

  test('of two who have the same, takes from the newcomer', () => {
    const entries = [entry('a'), entry('a'), entry('b'), entry('b')];
    expect(entryToDrop(entries, 'b')).toBe(entries[2]);
    expect(entryToDrop(entries, 'a')).toBe(entries[0]);
  });

  test('takes nothing from those who have less than the newcomer', () => {
    expect(entryToDrop([entry('a', 5, false), entry('b', 4)], 'a')).toBeUndefined();
    expect(entryToDrop([], 'a')).toBeUndefined();
  });

  test('counts entries that cannot be dropped', () => {
    const entries = [entry('a', 1, false), entry('a', 1, false), entry('a'), entry('b'), entry('b')];
    expect(entryToDrop(entries, 'b')).toBe(entries[2]);
  });

  test('any entries: the one that is dropped is droppable, and its owner has at least as much as the newcomer', () => {
    const owners = fc.constantFrom('a', 'b', 'c');
    const any = fc.array(fc.record({ owner: owners, size: fc.nat(9), droppable: fc.boolean() }));
    fc.assert(
      fc.property(any, owners, (entries, newcomer) => {
        const held = (owner: string) => entries.reduce((sum, one) => sum + (one.owner === owner ? one.size : 0), 0);
        const dropped = entryToDrop(entries, newcomer);
        if (!dropped) return;
        expect(dropped.droppable).toBe(true);
        const open = entries.filter(({ droppable }) => droppable).map(({ owner }) => held(owner));
        expect(held(dropped.owner)).toBe(Math.max(...open));
        expect(held(dropped.owner)).toBeGreaterThanOrEqual(held(newcomer));
      }),
    );
  });
});
