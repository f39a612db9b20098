import { expect, test } from 'vitest';
import { ownSettingsBody, settingsBody } from './settings.ts';
import { plainControls } from './testing/world.ts';

/** Every name that clients of this dialect look for. */
const names = [
  ['seed', 'temperature', 'dynatemp_range', 'dynatemp_exponent', 'top_k', 'top_p', 'min_p', 'top_n_sigma'],
  ['xtc_probability', 'xtc_threshold', 'typical_p', 'repeat_last_n', 'repeat_penalty', 'presence_penalty'],
  ['frequency_penalty', 'dry_multiplier', 'dry_base', 'dry_allowed_length', 'dry_penalty_last_n', 'mirostat'],
  ['mirostat_tau', 'mirostat_eta', 'adaptive_target', 'adaptive_decay', 'max_tokens', 'n_predict', 'n_keep'],
  ['n_discard', 'ignore_eos', 'stream', 'n_probs', 'min_keep', 'chat_format', 'reasoning_format'],
  ['reasoning_in_content', 'generation_prompt', 'samplers', 'speculative.types', 'timings_per_token'],
  ['post_sampling_probs', 'backend_sampling', 'lora'],
].flat();

test('the settings have every name of the dialect and no others', () => {
  expect(Object.keys(settingsBody(plainControls)).toSorted()).toEqual(names.toSorted());
});

test('what somebody wrote is told only to whoever wrote it', () => {
  const controls = {
    ...plainControls,
    stop: ['secret'],
    grammar: { gbnf: 'secret', retainState: false, triggers: [{ type: 'word', text: 'x' }] as const },
    logitBias: [[5, 1]] as const,
    sampling: { ...plainControls.sampling, dryBreakers: ['secret'] },
  };
  expect(JSON.stringify(settingsBody(controls))).not.toContain('secret');
  const view = { stream: true, timingsPerToken: true, postSampling: true };
  expect(ownSettingsBody(controls, view)).toMatchObject({
    stop: ['secret'],
    grammar: 'secret',
    grammar_lazy: true,
    dry_sequence_breakers: ['secret'],
    logit_bias: [{ token: 5, bias: 1 }],
    stream: true,
    timings_per_token: true,
    post_sampling_probs: true,
  });
});

test('both names of the length say the same, and a ban of the end is told', () => {
  const told = settingsBody({ ...plainControls, maxTokens: 9, endTokens: 'ban', logprobs: 4 });
  expect(told).toMatchObject({ max_tokens: 9, n_predict: 9, ignore_eos: true, n_probs: 4 });
  expect(settingsBody(plainControls)).toMatchObject({ ignore_eos: false, n_probs: 0 });
});
