import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { NodeFault, readGraph } from './graph.ts';
import { node } from './testing/graphs.ts';

function held(value: unknown) {
  const first = readGraph({ '1': node('Any', { x: value }) }).get('1');
  return { number: () => first?.number('x', 1, 10), text: () => first?.text('x') };
}

describe('Node values', () => {
  test.each([
    [5, 5],
    ['5', 5],
    [' 7.5 ', 7.5],
    [{ __value__: 3 }, 3],
    [null, undefined],
    [undefined, undefined],
  ])('number: reads %j as %s', (value, number) => expect(held(value).number()).toBe(number));

  test.each([
    [0, 'value_smaller_than_min'],
    [11, 'value_bigger_than_max'],
    ['many', 'invalid_input_type'],
    ['', 'invalid_input_type'],
    [true, 'invalid_input_type'],
    [{}, 'invalid_input_type'],
    [Number.POSITIVE_INFINITY, 'invalid_input_type'],
  ])('number: refuses %j (%s)', (value, type) => {
    expect(() => held(value).number()).toThrow(expect.objectContaining({ problem: expect.objectContaining({ type }) }));
  });

  test('text: reads strings and numbers', () => {
    expect([held('a').text(), held(5).text(), held(null).text()]).toEqual(['a', '5', undefined]);
    expect(() => held({ a: 1 }).text()).toThrow(NodeFault);
  });

  test('number: is within its bounds, undefined or a NodeFault for any value', () => {
    fc.assert(
      fc.property(fc.anything({ maxDepth: 2 }), (value) => {
        try {
          const number = held(value).number();
          expect(number === undefined || (number >= 1 && number <= 10)).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(NodeFault);
        }
      }),
    );
  });
});
