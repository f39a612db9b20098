import { expect, test } from 'vitest';
import { isBuiltIn, voiceLabel } from './voices.ts';

test.each([
  ['slt', 'Slt (American, female)'],
  ['kal16', 'Kal (American, male)'],
  ['kal', 'Kal (American, male, telephone quality)'],
  ['af_bella', 'Bella (American, female)'],
  ['af', 'Standard (American, female)'],
  ['bm_george', 'George (British, male)'],
  ['zf_xiaobei', 'Xiaobei (Chinese, female)'],
  ['en_US-amy-medium', 'Amy (American English)'],
  ['de_DE-thorsten_emotional-medium', 'Thorsten emotional (German (Germany))'],
  ['vits-vctk-0', 'Vits vctk 1'],
  ['my_voice.wav', 'My voice (sample)'],
  ['alloy', 'Alloy'],
])('voiceLabel: %s reads %s', (id, label) => {
  expect(voiceLabel(id)).toBe(label);
});

test('isBuiltIn: knows the list of the built-in engine', () => {
  expect(isBuiltIn(['slt', 'rms', 'aunt.wav'])).toBe(true);
  expect(isBuiltIn(['af_heart', 'am_adam'])).toBe(false);
  expect(isBuiltIn([])).toBe(false);
});
