import fc from 'fast-check';
import { expect, test } from 'vitest';
import { applyDefaults, requestDefaults } from './gen-defaults.ts';

const defaults = { rep_pen: 1.1, top_k: 5 };

test('fields that the request leaves out are added', () => {
  expect(applyDefaults({ prompt: 'x', top_k: 1 }, defaults, false)).toEqual({ prompt: 'x', top_k: 1, rep_pen: 1.1 });
});

test('with overwrite the server decides', () => {
  expect(applyDefaults({ prompt: 'x', top_k: 1 }, defaults, true)).toEqual({ prompt: 'x', top_k: 5, rep_pen: 1.1 });
});

test('a field that is sent as null was sent', () => {
  expect(applyDefaults({ top_k: null }, defaults, false).top_k).toBeNull();
});

test('a sampler named default is no choice', () => {
  const wanted = { sampler_name: 'euler', scheduler: 'karras' };
  expect(applyDefaults({ sampler_name: 'Default', scheduler: 'simple' }, wanted, false)).toEqual({
    sampler_name: 'euler',
    scheduler: 'simple',
  });
});

test('a field named like the prototype is only a field', () => {
  const merged = applyDefaults(JSON.parse('{"a":1}'), JSON.parse('{"__proto__":{"b":2}}'), false);
  expect(Object.getPrototypeOf(merged)).toBe(Object.prototype);
});

test('neither the request nor the defaults are changed', () => {
  const dictionary = fc.dictionary(fc.string(), fc.jsonValue());
  fc.assert(
    fc.property(dictionary, dictionary, fc.boolean(), (body, values, overwrite) => {
      const before = JSON.stringify([body, values]);
      const merged = applyDefaults(body, values as never, overwrite);
      expect(JSON.stringify([body, values])).toBe(before);
      expect(new Set(Object.keys(merged))).toEqual(new Set([...Object.keys(body), ...Object.keys(values)]));
    }),
  );
});

test('other spellings are understood, and the real name wins', () => {
  const gendefaults = { 'cfg-scale': 7, sampler: 'euler', sampler_name: 'heun', cache_option: 'x', guidance: 3.5 };
  expect(requestDefaults({ gendefaults, reasoningeffort: 'default' })).toEqual({
    cfg_scale: 7,
    sampler_name: 'heun',
    cache_options: 'x',
    distilled_guidance: 3.5,
  });
});

test('the reasoning effort of the server is a default like the others', () => {
  expect(requestDefaults({ gendefaults: null, reasoningeffort: 'low' })).toEqual({ reasoning_effort: 'low' });
  expect(requestDefaults({ gendefaults: { reasoning_effort: 'high' }, reasoningeffort: 'low' })).toEqual({
    reasoning_effort: 'high',
  });
  expect(requestDefaults({ gendefaults: null, reasoningeffort: 'default' })).toEqual({});
});
