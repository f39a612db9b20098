import { expect, test } from 'vitest';
import { passedFields, withPassed } from './passed-fields.ts';

function sentOf(fields: object) {
  const names: string[] = [];
  return {
    names,
    sent: { fields: fields as Record<string, unknown>, passed: (all: readonly string[]) => names.push(...all) },
  };
}

test('withPassed: adds the fields that fit, and says which', () => {
  const { sent, names } = sentOf({ cnet_image: 'a', cnet_weight: 0.5, eta: 1 });
  expect(withPassed({ prompt: 'x' }, sent, ['cnet_*'])).toEqual({ cnet_image: 'a', cnet_weight: 0.5, prompt: 'x' });
  expect(names).toEqual(['cnet_image', 'cnet_weight']);
});

test('withPassed: never replaces what the adapter sends, nor the model or the form of the answer', () => {
  const { sent, names } = sentOf({ prompt: 'other', model: 'm', stream: false, extra: 1 });
  expect(withPassed({ prompt: 'x' }, sent, ['*'])).toEqual({ prompt: 'x', extra: 1 });
  expect(names).toEqual(['extra']);
});

test('passedFields: nothing without patterns, and the body of the request is not even read', () => {
  const sent = {
    get fields(): never {
      throw new Error('read');
    },
    passed: () => undefined,
  };
  expect(passedFields({}, sent, undefined)).toEqual({});
  expect(passedFields({}, sent, [])).toEqual({});
  expect(passedFields({}, undefined, ['*'])).toEqual({});
});

test('passedFields: the name of a prototype cannot be set', () => {
  const { sent } = sentOf(JSON.parse('{"__proto__": {"polluted": true}}'));
  expect(Object.getPrototypeOf(withPassed({}, sent, ['*']))).toBe(Object.prototype);
});
