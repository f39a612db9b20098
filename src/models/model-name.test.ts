import { expect, test } from 'vitest';
import type { TextState } from '../core/text-service.ts';
import { modelName } from './model-name.ts';

const loading = (name: string): TextState => ({ type: 'loading', name, progress: 0 });

test.each<[TextState, string, boolean, string]>([
  [loading('Parley mini (v1).Q4_K-M'), '', false, 'koboldcpp/Parleyminiv1.Q4_K-M'],
  [loading('mini'), '', true, 'koboldcpp/mini'],
  [loading('mini'), 'My Model', false, 'koboldcpp/MyModel'],
  [loading('mini'), 'other', true, 'koboldcpp/debug-other'],
  [{ type: 'none' }, 'other', false, 'inactive'],
  [{ type: 'failed', name: 'mini', reason: 'x' }, '', false, 'inactive'],
])('modelName: %o with "%s" (altered: %s) is %s', (state, hordeModelName, altered, expected) => {
  expect(modelName(state, { hordeModelName, altered })).toBe(expected);
});
