import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { SseLimitError, SseParser } from './sse-parser.ts';

function parse(pieces: readonly string[], maxPending?: number) {
  const events: string[] = [];
  const names: string[] = [];
  const comments: string[] = [];
  const parser = new SseParser(
    {
      event: (data, name) => {
        events.push(data);
        names.push(name);
      },
      comment: (text) => comments.push(text),
    },
    maxPending,
  );
  for (const piece of pieces) parser.push(piece);
  parser.end();
  return { events, names, comments };
}

describe('SseParser', () => {
  test('reports each event once, with or without a space after the colon', () => {
    const { events } = parse(['data: {"a":1}\n\ndata:{"b":2}\n\ndata: [DONE]\n\n']);
    expect(events).toEqual(['{"a":1}', '{"b":2}', '[DONE]']);
  });

  test('reports the id of an event, and not that of the one before', () => {
    const ids: string[] = [];
    const parser = new SseParser({ event: (_data, _name, id) => ids.push(id) });
    parser.push('id: 4\ndata: x\n\ndata: y\n\ndata: z\nid: 6\n\n');
    expect(ids).toEqual(['4', '', '6']);
  });

  test('reports names and comments, and ignores retry times and empty lines', () => {
    const parsed = parse([': keepalive\n\nevent: delta\nid: 4\nretry: 10\ndata: x\n\n\n\ndata: y\n\n']);
    expect(parsed).toEqual({ events: ['x', 'y'], names: ['delta', 'message'], comments: ['keepalive'] });
  });

  test('accepts LF, CRLF and CR, and joins the lines of one event', () => {
    expect(parse(['data: one\r\ndata: two\r\n\r\ndata: three\n\ndata: four\r\r']).events).toEqual([
      'one\ntwo',
      'three',
      'four',
    ]);
  });

  test('ignores a byte order mark', () => {
    expect(parse(['\ufeffdata: x\n\n']).events).toEqual(['x']);
  });

  test('needs no empty line after the last event', () => {
    expect(parse(['data: one\n\ndata: two']).events).toEqual(['one', 'two']);
    expect(parse(['data: one\n\ndata: two\r']).events).toEqual(['one', 'two']);
  });

  test('gives the same events however the stream is cut', () => {
    const texts = fc.array(
      fc.string({ unit: 'grapheme' }).map((text) => JSON.stringify({ text })),
      { maxLength: 5 },
    );
    fc.assert(
      fc.property(texts, fc.array(fc.nat({ max: 400 })), fc.constantFrom('\n', '\r\n', '\r'), (data, cuts, end) => {
        const stream = data.map((one) => `: note${end}data: ${one}${end}${end}`).join('');
        const places = [0, ...cuts.map((cut) => Math.min(cut, stream.length)), stream.length].sort((a, b) => a - b);
        const pieces = places.slice(1).map((place, index) => stream.slice(places[index], place));
        expect(parse(pieces).events).toEqual(data);
      }),
    );
  });

  test('searches each piece of a long line once for each line end, and joins them once', () => {
    const search = vi.spyOn(String.prototype, 'indexOf');
    const join = vi.spyOn(Array.prototype, 'join');
    const parser = new SseParser({ event: () => undefined });
    parser.push('data: ');
    for (let count = 0; count < 100; count += 1) parser.push('x'.repeat(50));
    parser.end();
    const searched = search.mock.contexts.reduce((sum: number, text) => sum + String(text).length, 0);
    const joins = join.mock.contexts.filter((parts) => (parts as unknown[]).length > 50).length;
    vi.restoreAllMocks();
    // 5,006 characters; the complete line is searched once more, for its colon.
    expect(searched).toBeLessThanOrEqual(3 * 5006);
    expect(joins).toBeLessThanOrEqual(1);
  });

  test.each([
    ['a line without an end', ['data: ', 'x'.repeat(60), 'y'.repeat(60)]],
    ['an event of too many lines', Array.from({ length: 30 }, () => 'data: x\n')],
    ['comments alone', Array.from({ length: 30 }, () => ': ping\n\n')],
  ])('throws SseLimitError for %s', (_, pieces) => {
    expect(() => parse(pieces, 100)).toThrow(SseLimitError);
  });

  test('counts from 0 again after each event', () => {
    expect(
      parse(
        Array.from({ length: 30 }, () => 'data: 1234567890\n\n'),
        40,
      ).events,
    ).toHaveLength(30);
  });
});
