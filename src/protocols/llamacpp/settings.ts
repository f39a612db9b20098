import type { GenerationControls } from '../../core/request.ts';
import { type SamplingName, samplersOfApi } from '../../core/sampling-fields.ts';
import { samplerNames } from './samplers.ts';

/** What a reply is to look like, beside what is generated. */
export interface SettingsView {
  readonly stream: boolean;
  readonly timingsPerToken: boolean;
  readonly postSampling: boolean;
}

const samplers = Object.entries(samplersOfApi('llamaCpp')) as readonly (readonly [SamplingName, string])[];

const plainView: SettingsView = { stream: false, timingsPerToken: false, postSampling: false };

/** The settings of a request by the names of this dialect: numbers and switches only, nothing that anybody wrote. */
export function settingsBody(controls: GenerationControls, view: SettingsView = plainView): object {
  const { sampling } = controls;
  return {
    ...Object.fromEntries(samplers.map(([name, field]) => [field, sampling[name]])),
    max_tokens: controls.maxTokens,
    n_predict: controls.maxTokens,
    n_keep: 0,
    n_discard: 0,
    ignore_eos: controls.endTokens === 'ban',
    stream: view.stream,
    n_probs: controls.logprobs ?? 0,
    min_keep: 0,
    chat_format: 'Content-only',
    reasoning_format: 'none',
    reasoning_in_content: false,
    generation_prompt: '',
    samplers: samplerNames(sampling),
    'speculative.types': 'none',
    timings_per_token: view.timingsPerToken,
    post_sampling_probs: view.postSampling,
    backend_sampling: false,
    lora: [],
  };
}

/** For whoever sent the request: its own texts too. */
export function ownSettingsBody(controls: GenerationControls, view: SettingsView): object {
  return {
    ...settingsBody(controls, view),
    dry_sequence_breakers: controls.sampling.dryBreakers,
    stop: controls.stop,
    logit_bias: controls.logitBias.map(([token, bias]) => ({ token, bias })),
    grammar: controls.grammar?.gbnf ?? '',
    grammar_lazy: controls.grammar?.triggers !== undefined,
  };
}
