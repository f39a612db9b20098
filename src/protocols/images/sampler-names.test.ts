import { describe, expect, test } from 'vitest';
import { chosenSampler, comfySampler, samplerAliases, samplerDisplay } from './sampler-names.ts';

const engine = {
  samplers: ['euler', 'euler_a', 'dpm++2m', 'ddim_trailing'],
  schedulers: ['discrete', 'karras', 'ays'],
};
const chosen = (sampler: string, scheduler = '') => chosenSampler(sampler, scheduler, engine);

describe('chosenSampler', () => {
  test.each([
    ['Euler a', 'euler_a'],
    ['Euler A', 'euler_a'],
    ['k_euler_a', 'euler_a'],
    ['euler_ancestral', 'euler_a'],
    ['EULER', 'euler'],
    ['DPM++ 2M', 'dpm++2m'],
    ['dpmpp_2m', 'dpm++2m'],
    ['DDIM', 'ddim_trailing'],
  ])('finds a sampler by the name %s', (name, sampler) => {
    expect(chosen(name)).toEqual({ sampler, scheduler: 'discrete' });
  });

  test.each(['', 'default', 'Default', 'automatic'])('uses the first sampler of the engine for %j', (name) => {
    expect(chosen(name)).toEqual({ sampler: 'euler', scheduler: 'discrete' });
  });

  test('splits a scheduler off the sampler name', () => {
    expect(chosen('DPM++ 2M Karras')).toEqual({ sampler: 'dpm++2m', scheduler: 'karras' });
    expect(chosen('Euler a Align Your Steps')).toEqual({ sampler: 'euler_a', scheduler: 'ays' });
  });

  test('prefers the explicit scheduler', () => {
    expect(chosen('DPM++ 2M Karras', 'normal')).toEqual({ sampler: 'dpm++2m', scheduler: 'discrete' });
  });

  test('passes unknown names on to the engine', () => {
    expect(chosen('Restart', 'beta')).toEqual({ sampler: 'Restart', scheduler: 'beta' });
  });

  test('has one name for all spellings', () => {
    const spoken = { samplers: ['Euler', 'Euler a'], schedulers: ['Simple'] };
    expect(chosenSampler('euler_ancestral', 'simple', spoken)).toEqual({ sampler: 'Euler a', scheduler: 'Simple' });
  });

  test.each([
    ['euler', 'euler'],
    ['Euler a', 'euler_ancestral'],
    ['heun', 'heun'],
    ['dpm2', 'dpm_2'],
    ['dpm++2s_a', 'dpmpp_2s_ancestral'],
    ['DPM++ 2M', 'dpmpp_2m'],
    ['dpm++2mv2', 'dpm++2mv2'],
    ['lcm', 'lcm'],
    ['ddim_trailing', 'ddim'],
    ['res_multistep', 'res_multistep'],
    ['res_2s', 'res_2s'],
    ['euler_a_cfg_pp', 'euler_ancestral_cfg_pp'],
    ['euler_ge', 'gradient_estimation'],
    ['Midpoint', 'midpoint'],
  ])('comfySampler: %s is %s in ComfyUI', (name, expected) => {
    expect(comfySampler(name)).toBe(expected);
  });

  test('is empty if the engine has no samplers', () => {
    expect(chosenSampler('', '', { samplers: [], schedulers: [] })).toEqual({ sampler: '', scheduler: '' });
  });

  test('samplerDisplay and samplerAliases: have the display name and all others', () => {
    expect(samplerDisplay('euler_a')).toBe('Euler a');
    expect(samplerDisplay('something new')).toBe('something new');
    expect(samplerAliases('euler_a')).toEqual(['euler_a', 'k_euler_a', 'euler_ancestral']);
    expect(samplerAliases('something new')).toEqual([]);
  });
});
