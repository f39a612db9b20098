import { describe, expect, test } from 'vitest';
import { extendDown, extendUp, firstRange, initialRange, rangeAround, type VisibleRange } from './visible-range.ts';

describe('visible range', () => {
  test('starts at the end of the chat', () => {
    expect(initialRange(2000)).toEqual({ first: 1990 });
    expect(initialRange(5)).toEqual({ first: 0 });
  });

  test('extends upwards and drops the end when it is large', () => {
    const once = extendUp(initialRange(2000), 2000);
    expect(once).toEqual({ first: 1982 });
    let span: VisibleRange = once;
    for (let scrolled = 0; scrolled < 10; scrolled += 1) span = extendUp(span, 2000);
    expect(span).toEqual({ first: 1902, end: 1962 });
  });

  test('reaches the first and the last turn', () => {
    let span = initialRange(300);
    for (let scrolled = 0; scrolled < 100; scrolled += 1) span = extendUp(span, 300);
    expect(span).toEqual({ first: 0, end: 60 });
    for (let scrolled = 0; scrolled < 100; scrolled += 1) {
      span = extendDown(span, 300);
      expect((span.end ?? 300) - span.first).toBeLessThanOrEqual(60);
    }
    expect(span).toEqual({ first: 240 });
  });

  test('includes new turns while it reaches the end', () => {
    expect(extendDown({ first: 10 }, 40)).toEqual({ first: 10 });
    expect(extendUp({ first: 10, end: 20 }, 15)).toEqual({ first: 2 });
  });
});

test('rangeAround: shows a turn with some before it', () => {
  expect(rangeAround(1000, 2000)).toEqual({ first: 996, end: 1006 });
  expect(rangeAround(1, 2000)).toEqual({ first: 0, end: 10 });
  expect(rangeAround(1998, 2000)).toEqual({ first: 1994 });
  expect(firstRange(2000)).toEqual({ first: 0, end: 10 });
  expect(firstRange(4)).toEqual({ first: 0 });
});
