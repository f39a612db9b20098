import { expect, test } from 'vitest';
import { completeOrder, defaultOrder, moved } from './sampler-order.ts';

test('defaultOrder: is that of the server', () => {
  expect(defaultOrder).toEqual([6, 0, 1, 3, 4, 2, 5]);
});

test('completeOrder: puts missing stages first', () => {
  expect(completeOrder([])).toEqual(defaultOrder);
  expect(completeOrder([0, 1, 2, 3, 4, 5])).toEqual([6, 0, 1, 2, 3, 4, 5]);
  expect(completeOrder([5, 5, 9])).toEqual([6, 0, 1, 3, 4, 2, 5]);
});

test('moved: moves a stage; the default order is empty, and places outside change nothing', () => {
  expect(moved([], 6, 0)).toEqual([5, 6, 0, 1, 3, 4, 2]);
  expect(moved([5, 6, 0, 1, 3, 4, 2], 0, 6)).toEqual([]);
  expect(moved([], 0, -1)).toEqual([]);
  expect(moved([], 6, 7)).toEqual([]);
});
