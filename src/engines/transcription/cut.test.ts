import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Chunk, ChunkCutter, type CutOptions, type Span } from './cut.ts';

const usual: CutOptions = { maxLength: 100, maxPause: 20, margin: 5, quietest: (_, to) => to };

function cut(spans: readonly Span[], length: number, own: Partial<CutOptions> = {}): readonly Chunk[] {
  const cutter = new ChunkCutter({ ...usual, ...own });
  return [...spans.flatMap((span) => cutter.add(span)), ...cutter.end(length)];
}

const span = (start: number, end: number): Span => ({ start, end });
const borders = (chunks: readonly Chunk[]) => chunks.map(({ start, end }) => [start, end]);

describe('ChunkCutter', () => {
  test('has no chunk without speech', () => {
    expect(cut([], 1000)).toEqual([]);
  });

  test('adds a margin around the speech', () => {
    expect(cut([span(20, 60)], 1000)).toEqual([{ start: 15, end: 65, spans: [span(20, 60)] }]);
  });

  test('keeps the margin within the recording', () => {
    expect(borders(cut([span(2, 98)], 100, { maxLength: 200 }))).toEqual([[0, 100]]);
  });

  test('joins neighbouring spans as long as they fit', () => {
    const spans = [span(10, 30), span(40, 60), span(70, 90), span(100, 120)];
    const chunks = cut(spans, 1000);
    expect(borders(chunks)).toEqual([
      [5, 95],
      [95, 125],
    ]);
    expect(chunks[0]?.spans).toEqual(spans.slice(0, 3));
  });

  test('cuts at every long pause', () => {
    expect(borders(cut([span(10, 20), span(41, 50), span(60, 70)], 1000))).toEqual([
      [5, 25],
      [36, 75],
    ]);
  });

  test('two chunks share the pause between them', () => {
    expect(borders(cut([span(0, 80), span(84, 160)], 1000))).toEqual([
      [0, 82],
      [82, 165],
    ]);
  });

  test('cuts speech without pauses at the quietest position of the later half', () => {
    const asked: number[][] = [];
    const quietest = (from: number, to: number): number => {
      asked.push([from, to]);
      return from + 10;
    };
    expect(borders(cut([span(10, 200)], 1000, { quietest }))).toEqual([
      [5, 65],
      [65, 120],
      [120, 205],
    ]);
    expect(asked).toEqual([
      [55, 100],
      [110, 155],
    ]);
  });

  test('handles overlapping spans', () => {
    expect(cut([span(10, 50), span(40, 60), span(45, 55)], 1000)).toEqual([
      { start: 5, end: 65, spans: [span(10, 50), span(50, 60)] },
    ]);
  });

  test('returns a chunk as soon as nothing can join it', () => {
    const cutter = new ChunkCutter(usual);
    expect(cutter.add(span(10, 20))).toEqual([]);
    expect(borders(cutter.add(span(50, 60)))).toEqual([[5, 25]]);
    expect(borders(cutter.end(62))).toEqual([[45, 62]]);
    expect(cutter.end(62)).toEqual([]);
  });
});

describe('ChunkCutter: any spans', () => {
  const speech = fc
    .array(fc.tuple(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 400 })), { maxLength: 30 })
    .map((steps) => {
      let place = 0;
      return steps.map(([pause, length]) => {
        const start = place + pause;
        place = start + length;
        return span(start, place);
      });
    });
  const options = fc.record({
    maxLength: fc.integer({ min: 40, max: 300 }),
    maxPause: fc.integer({ min: 0, max: 80 }),
    margin: fc.integer({ min: 0, max: 12 }),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
  });

  const holds = (law: (chunks: readonly Chunk[], spans: readonly Span[], maxLength: number, length: number) => void) =>
    fc.assert(
      fc.property(speech, options, fc.nat(50), (spans, { share, ...own }, rest) => {
        const length = (spans.at(-1)?.end ?? 0) + rest;
        const quietest = (from: number, to: number): number => Math.round(from + (to - from) * share);
        law(cut(spans, length, { ...own, quietest }), spans, own.maxLength, length);
      }),
    );

  test('all speech is in a chunk, once', () => {
    holds((chunks, spans) => {
      const total = (list: readonly Span[]) => list.reduce((sum, { start, end }) => sum + end - start, 0);
      expect(total(chunks.flatMap((chunk) => chunk.spans))).toBe(total(spans));
      for (const chunk of chunks) {
        for (const { start, end } of chunk.spans) {
          expect(start).toBeGreaterThanOrEqual(chunk.start);
          expect(end).toBeLessThanOrEqual(chunk.end);
          expect(spans.some((each) => each.start <= start && end <= each.end)).toBe(true);
        }
      }
    });
  });

  test('no chunk is too long', () => {
    holds((chunks, _, maxLength) => {
      for (const { start, end } of chunks) expect(end - start).toBeLessThanOrEqual(maxLength);
    });
  });

  test('chunks are in order and within the recording', () => {
    holds((chunks, _, __, length) => {
      let before = 0;
      for (const { start, end } of chunks) {
        expect(start).toBeGreaterThanOrEqual(before);
        expect(end).toBeGreaterThan(start);
        before = end;
      }
      expect(before).toBeLessThanOrEqual(length);
    });
  });
});
