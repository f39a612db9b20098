import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EventNumbers, eventFormat } from './number-events.ts';

describe('eventFormat', () => {
  test.each([
    ['text/event-stream', 'sse'],
    ['text/event-stream; charset=utf-8', 'sse'],
    ['application/x-ndjson', 'ndjson'],
    ['audio/mpeg', undefined],
    ['application/json', undefined],
  ])('%s is %s', (type, format) => {
    expect(eventFormat({ 'Content-Type': type })).toBe(format);
  });

  test('a reply without headers has none', () => expect(eventFormat(undefined)).toBeUndefined());
});

describe('EventNumbers', () => {
  test('server-sent events: an id line in front of each frame, also of several in one piece', () => {
    const numbers = new EventNumbers('sse');
    expect(numbers.push('data: a\n\nevent: x\ndata: b\n\n')).toEqual([
      'id: 1\ndata: a\n\n',
      'id: 2\nevent: x\ndata: b\n\n',
    ]);
    expect(numbers.push('data: [DONE]\n\n')).toEqual(['id: 3\ndata: [DONE]\n\n']);
    expect(numbers.end()).toBe('');
  });

  test('comments have no number: they precede the next event, or follow the last one', () => {
    const numbers = new EventNumbers('sse');
    expect(numbers.push(': warning\n\n')).toEqual([]);
    expect(numbers.push('data: a\n\n: note\n\n')).toEqual([': warning\n\nid: 1\ndata: a\n\n']);
    expect(numbers.end()).toBe(': note\n\n');
  });

  test('lines of JSON: a field i, whatever else the object has', () => {
    const numbers = new EventNumbers('ndjson');
    expect(numbers.push('{"a":"{}"}\n{}\n').map((line) => JSON.parse(line))).toEqual([{ i: 1, a: '{}' }, { i: 2 }]);
  });

  test('gives the same events however the stream is cut', () => {
    const frames = fc.array(
      fc.oneof(
        fc.string().map((text) => `data: ${JSON.stringify(text)}\n\n`),
        fc.constant(': keepalive\n\n'),
      ),
    );
    fc.assert(
      fc.property(frames, fc.array(fc.nat({ max: 200 })), (list, cuts) => {
        const text = list.join('');
        const whole = new EventNumbers('sse');
        const all = whole.push(text).join('') + whole.end();
        const places = [0, ...cuts.map((cut) => Math.min(cut, text.length)), text.length].sort((a, b) => a - b);
        const cut = new EventNumbers('sse');
        const events = places.flatMap((place, index) => cut.push(text.slice(places[index - 1] ?? 0, place)));
        expect(events.join('') + cut.end()).toBe(all);
        expect(all.replace(/^id: \d+\n/gm, '')).toBe(text);
      }),
    );
  });
});
