import { expect, test } from 'vitest';
import { samplingFields } from '../../core/sampling-fields.ts';
import { nativeFidelity } from './fidelity.ts';

const names = nativeFidelity.flatMap(({ fields }) => fields.map(({ field }) => field));

test('each field stands in the table once', () => expect(new Set(names).size).toBe(names.length));

test('every sampler is there under all of its names', () => {
  for (const { wire } of Object.values(samplingFields)) for (const name of wire) expect(names).toContain(name);
});

/** What clients of this API send, besides the samplers. */
const others = [
  ['prompt', 'memory', 'max_context_length', 'max_length', 'genkey', 'stop_sequence', 'trim_stop', 'quiet'],
  ['images', 'audio', 'replace_instruct_placeholders', 'render_special', 'bypass_eos', 'ban_eos_token'],
  ['use_default_badwordsids', 'logprobs', 'adapter', 'reasoning_effort', 'thinking_budget_tokens', 'sampler_order'],
  ['dry_sequence_breakers', 'logit_bias', 'custom_token_bans', 'banned_tokens', 'banned_strings', 'grammar'],
  ['grammar_retain_state', 'negative_prompt', 'guidance_scale'],
].flat();

test.each(others)('%s is there', (field) => expect(names).toContain(field));
