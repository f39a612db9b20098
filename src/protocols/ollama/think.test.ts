import { expect, test } from 'vitest';
import type { ReasoningBudget } from '../../core/request.ts';
import { optional, readFields } from '../fields.ts';
import { decodeThink as decode } from './decode.ts';
import { readThink } from './fields.ts';
import { settingFields } from './options.ts';

const decodeThink = (body: { readonly think?: unknown }, settings: object, native: ReasoningBudget | undefined) =>
  decode(optional(readThink)(body.think, 'think'), readFields(settingFields, { ...settings }), native);

const native = { type: 'tokens', tokens: 5 } as const;

test('decodeThink: without think the native controls count', () => {
  expect(decodeThink({}, { reasoning_effort: 'low' }, native)).toEqual({
    effort: 'low',
    budget: native,
    variables: {},
  });
  expect(decodeThink({ think: null }, {}, undefined)).toEqual({ effort: undefined, budget: undefined, variables: {} });
});

test.each([
  [false, {}, 'none', { type: 'share', share: 0 }, false],
  [false, { thinking_budget_tokens: 9 }, 'none', { type: 'share', share: 0 }, false],
  [true, {}, undefined, undefined, true],
  [true, { thinking_budget_tokens: 9 }, undefined, { type: 'tokens', tokens: 9 }, true],
  [true, { reasoning_effort: 'high' }, 'high', { type: 'share', share: 0.75 }, true],
  [true, { reasoning_effort: 'none' }, undefined, undefined, true],
  ['medium', {}, 'medium', { type: 'share', share: 0.5 }, true],
  ['medium', { reasoning_effort: 'low' }, 'medium', { type: 'share', share: 0.5 }, true],
  ['max', {}, 'max', undefined, true],
])('decodeThink: %j beside %j', (think, settings, effort, budget, enabled) => {
  expect(decodeThink({ think }, settings, native)).toEqual({
    effort,
    budget,
    variables: { enable_thinking: enabled },
  });
});

test.each(['', 'some', 1, {}, []])('readThink: refuses %j', (think) => {
  expect(() => decodeThink({ think }, {}, undefined)).toThrow(
    'think must be true, false, "low", "medium", "high" or "max".',
  );
});
