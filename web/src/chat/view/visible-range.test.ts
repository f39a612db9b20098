import { describe, expect, test } from 'vitest';
import { extendDown, extendUp, initialRange, type VisibleRange } from './visible-range.ts';

describe('the part of a chat that is on the page', () => {
  test('is its end at first, or all of a short one', () => {
    expect(initialRange(2000)).toEqual({ first: 1990 });
    expect(initialRange(5)).toEqual({ first: 0 });
  });

  test('grows upwards in small steps, and lets go of the end when it is large', () => {
    const once = extendUp(initialRange(2000), 2000);
    expect(once).toEqual({ first: 1982 });
    let span: VisibleRange = once;
    for (let scrolled = 0; scrolled < 10; scrolled += 1) span = extendUp(span, 2000);
    expect(span).toEqual({ first: 1902, end: 1962 });
  });

  test('reaches the first turn, and from there the last one again', () => {
    let span = initialRange(300);
    for (let scrolled = 0; scrolled < 100; scrolled += 1) span = extendUp(span, 300);
    expect(span).toEqual({ first: 0, end: 60 });
    for (let scrolled = 0; scrolled < 100; scrolled += 1) {
      span = extendDown(span, 300);
      expect((span.end ?? 300) - span.first).toBeLessThanOrEqual(60);
    }
    expect(span).toEqual({ first: 240 });
  });

  test('follows the end while it is there', () => {
    expect(extendDown({ first: 10 }, 40)).toEqual({ first: 10 });
    expect(extendUp({ first: 10, end: 20 }, 15)).toEqual({ first: 2 });
  });
});
