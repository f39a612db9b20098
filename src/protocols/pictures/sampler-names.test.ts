import { describe, expect, test } from 'vitest';
import { chosenSampler, plainSampler, samplerAliases, samplerDisplay } from './sampler-names.ts';

const engine = {
  samplers: ['euler', 'euler_a', 'dpm++2m', 'ddim_trailing'],
  schedulers: ['discrete', 'karras', 'ays'],
};
const chosen = (sampler: string, scheduler = '') => chosenSampler(sampler, scheduler, engine);

describe('a sampler', () => {
  test.each([
    ['Euler a', 'euler_a'],
    ['Euler A', 'euler_a'],
    ['k_euler_a', 'euler_a'],
    ['euler_ancestral', 'euler_a'],
    ['EULER', 'euler'],
    ['DPM++ 2M', 'dpm++2m'],
    ['dpmpp_2m', 'dpm++2m'],
    ['DDIM', 'ddim_trailing'],
  ])('is found by the name %s', (name, sampler) => {
    expect(chosen(name)).toEqual({ sampler, scheduler: 'discrete' });
  });

  test.each(['', 'default', 'Default', 'automatic'])('is the first of the engine where it is called %j', (name) => {
    expect(chosen(name)).toEqual({ sampler: 'euler', scheduler: 'discrete' });
  });

  test('may have its scheduler behind it', () => {
    expect(chosen('DPM++ 2M Karras')).toEqual({ sampler: 'dpm++2m', scheduler: 'karras' });
    expect(chosen('Euler a Align Your Steps')).toEqual({ sampler: 'euler_a', scheduler: 'ays' });
  });

  test('has the scheduler that is named by itself before the one behind it', () => {
    expect(chosen('DPM++ 2M Karras', 'normal')).toEqual({ sampler: 'dpm++2m', scheduler: 'discrete' });
  });

  test('that the engine does not have is passed on, for the engine to tell of it', () => {
    expect(chosen('Restart', 'beta')).toEqual({ sampler: 'Restart', scheduler: 'beta' });
  });

  test('has one plain name, whatever the engine calls it', () => {
    expect(['Euler a', 'DPM++ 2M', 'Midpoint'].map(plainSampler)).toEqual(['euler_a', 'dpm++2m', 'midpoint']);
    const spoken = { samplers: ['Euler', 'Euler a'], schedulers: ['Simple'] };
    expect(chosenSampler('euler_ancestral', 'simple', spoken)).toEqual({ sampler: 'Euler a', scheduler: 'Simple' });
  });

  test('is nothing where the engine has none', () => {
    expect(chosenSampler('', '', { samplers: [], schedulers: [] })).toEqual({ sampler: '', scheduler: '' });
  });

  test('is shown as people know it, with all its other names', () => {
    expect(samplerDisplay('euler_a')).toBe('Euler a');
    expect(samplerDisplay('something new')).toBe('something new');
    expect(samplerAliases('euler_a')).toEqual(['euler_a', 'k_euler_a', 'euler_ancestral']);
    expect(samplerAliases('something new')).toEqual([]);
  });
});
