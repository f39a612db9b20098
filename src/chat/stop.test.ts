import fc from 'fast-check';
import { expect, test } from 'vitest';
import { StopMatcher } from './stop.ts';
import { cutIntoPieces } from './testing/fixtures/pieces.ts';

function reply(stops: readonly string[], trim: boolean, pieces: readonly string[]): { text: string; stop?: string } {
  const matcher = new StopMatcher(stops, trim);
  let text = '';
  for (const piece of pieces) {
    const step = matcher.push(piece);
    text += step.text;
    if (step.stop !== undefined) return { text, stop: step.stop };
  }
  return { text: text + matcher.flush() };
}

/** Reads letter by letter and looks whether the text now ends with a stop text. */
function naive(stops: readonly string[], whole: string): { text: string; stop?: string } {
  for (let end = 1; end <= whole.length; end++) {
    const text = whole.slice(0, end);
    const ended = stops.filter((stop) => stop !== '' && text.endsWith(stop)).sort((a, b) => b.length - a.length)[0];
    if (ended !== undefined) return { text: text.slice(0, -ended.length), stop: ended };
  }
  return { text: whole };
}

test('StopMatcher: passes text that cannot become a stop text', () => {
  const matcher = new StopMatcher(['\nUser:'], true);
  expect(matcher.push('Hello.').text).toBe('Hello.');
});

test('StopMatcher: holds back only the tail that could become a stop text', () => {
  const matcher = new StopMatcher(['\nUser:'], true);
  expect(matcher.push('Hello.\nUs').text).toBe('Hello.');
  expect(matcher.push('ually').text).toBe('\nUsually');
});

test('StopMatcher: removes a stop text across many pieces', () => {
  expect(reply(['\nUser:'], true, ['Hi', '\n', 'Us', 'er', ': and'])).toEqual({ text: 'Hi', stop: '\nUser:' });
});

test('StopMatcher: keeps a self-overlapping tail', () => {
  expect(reply(['aab'], true, ['a', 'a', 'a', 'b'])).toEqual({ text: 'a', stop: 'aab' });
});

test('StopMatcher: flush returns the held text', () => {
  expect(reply(['</s>'], true, ['x </'])).toEqual({ text: 'x </' });
});

test('StopMatcher: without trim keeps the piece with the stop text', () => {
  expect(reply(['END'], false, ['a E', 'ND b'])).toEqual({ text: 'a END b', stop: 'END' });
});

test('StopMatcher: returns nothing after a stop', () => {
  const matcher = new StopMatcher(['x'], true);
  expect(matcher.push('ax').stop).toBe('x');
  expect(matcher.push('more')).toEqual({ text: '', stop: 'x' });
  expect(matcher.flush()).toBe('');
});

test('StopMatcher: ignores empty stop texts', () => {
  expect(reply([''], true, ['a', 'b'])).toEqual({ text: 'ab' });
});

test('StopMatcher: the result does not depend on the pieces', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'é'), maxLength: 40 });
  const stops = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'é'), maxLength: 4 }), { maxLength: 5 });
  fc.assert(
    fc.property(cutIntoPieces(letters), stops, (pieces, list) => {
      expect(reply(list, true, pieces)).toEqual(naive(list, pieces.join('')));
    }),
    { numRuns: 2000 },
  );
});

test('StopMatcher: holds back only a prefix of a stop text', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 30 });
  const stops = fc.array(fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 5 }), {
    minLength: 1,
    maxLength: 4,
  });
  fc.assert(
    fc.property(cutIntoPieces(letters), stops, (pieces, list) => {
      const matcher = new StopMatcher(list, true);
      let read = '';
      let shown = '';
      for (const piece of pieces) {
        const step = matcher.push(piece);
        if (step.stop !== undefined) return;
        read += piece;
        shown += step.text;
        const held = read.slice(shown.length);
        expect(list.some((stop) => stop.length > held.length && stop.startsWith(held))).toBe(true);
      }
    }),
  );
});
