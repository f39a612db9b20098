import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { drawMask, emptyMask, isPainted, type Mask, type MaskStep, redo, undo, withStep } from './mask.ts';

const stroke = (erase = false): MaskStep => ({ type: 'stroke', points: [{ x: 0.5, y: 0.5 }], size: 0.1, erase });
const invert: MaskStep = { type: 'invert' };
const clear: MaskStep = { type: 'clear' };
const after = (...steps: MaskStep[]): Mask => steps.reduce(withStep, emptyMask);

test.each([
  ['nothing', [], false],
  ['a stroke', [stroke()], true],
  ['only the eraser', [stroke(true)], false],
  ['a cleared stroke', [stroke(), clear], false],
  ['an inverted empty mask', [invert], true],
  ['a stroke after clear', [stroke(), clear, stroke()], true],
] as const)('isPainted: after %s', (_, steps, expected) => {
  expect(isPainted(after(...steps))).toBe(expected);
});

describe('undo and redo', () => {
  test('redo restores what undo removed', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(stroke(), stroke(true), invert, clear), { minLength: 1 }), (steps) => {
        const mask = after(...steps);
        expect(redo(undo(mask))).toEqual(mask);
      }),
    );
  });

  test('do nothing without steps', () => {
    expect(undo(emptyMask)).toEqual(emptyMask);
    expect(redo(emptyMask)).toEqual(emptyMask);
  });

  test('a new step discards undone ones', () => {
    expect(withStep(undo(after(stroke())), invert)).toEqual({ done: [invert], undone: [] });
  });
});

test('drawMask: draws the steps since the last clear', () => {
  const calls: string[] = [];
  const context = new Proxy(
    { globalCompositeOperation: '' },
    {
      get: (target, name) =>
        name in target
          ? target[name as 'globalCompositeOperation']
          : (...given: number[]) => calls.push(`${String(name)} ${given.join(' ')}`),
      set: (target, name, value) => {
        if (name === 'globalCompositeOperation') calls.push(`mode ${value}`);
        return Reflect.set(target, name, value);
      },
    },
  );
  drawMask({ context: context as never, width: 200, height: 100, color: 'red' }, [
    invert,
    clear,
    stroke(),
    stroke(true),
    invert,
  ]);
  expect(calls).toEqual([
    'mode source-over',
    'clearRect 0 0 200 100',
    'mode source-over',
    'beginPath ',
    'moveTo 100 50',
    'lineTo 100 50',
    'stroke ',
    'mode destination-out',
    'beginPath ',
    'moveTo 100 50',
    'lineTo 100 50',
    'stroke ',
    'mode xor',
    'fillRect 0 0 200 100',
  ]);
});
