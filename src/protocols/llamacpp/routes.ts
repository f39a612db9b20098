import { defaultSampling } from '../../core/sampling-fields.ts';
import type { TextService, TextState } from '../../core/text-service.ts';
import { type Endpoint, json, type Reply } from '../../http/call.ts';
import { errorBody, llamacppFamily } from './errors.ts';

export interface LlamacppParts {
  readonly service: TextService;
  readonly modelName: () => string;
  readonly modalities: () => { readonly vision: boolean; readonly audio: boolean };
}

export function llamacppEndpoints(parts: LlamacppParts): Endpoint[] {
  const open = { method: 'GET', match: 'exact', access: 'open', queued: false, family: llamacppFamily } as const;
  return [
    {
      ...open,
      path: '/props',
      summary: 'Chat template, context size, and whether images and sound can be read.',
      handle: () => json(props(parts)),
    },
    {
      ...open,
      path: '/health',
      summary: 'Whether requests can be served now.',
      handle: () => health(parts.service.state()),
    },
    {
      ...open,
      path: '/slots',
      summary: 'Not there: always answers 501.',
      handle: () => json(errorBody(501, 'This server does not support slots endpoint.'), 501),
    },
  ];
}

function props({ service, modelName, modalities }: LlamacppParts): object {
  const state = service.state();
  const contextSize = service.contextSize();
  return {
    chat_template: (state.type === 'ready' && state.model.chatTemplate) || null,
    id: 0,
    id_task: -1,
    total_slots: 1,
    modalities: modalities(),
    model_path: modelName(),
    n_ctx: contextSize,
    default_generation_settings: { n_ctx: contextSize, params: samplerDefaults },
  };
}

/** What a request gets for the controls it leaves out, by the names of this dialect. */
const samplerDefaults = {
  seed: defaultSampling.seed,
  temperature: defaultSampling.temperature,
  dynatemp_range: defaultSampling.dynamicRange,
  dynatemp_exponent: defaultSampling.dynamicExponent,
  top_k: defaultSampling.topK,
  top_p: defaultSampling.topP,
  min_p: defaultSampling.minP,
  top_n_sigma: defaultSampling.nSigma,
  xtc_probability: defaultSampling.xtcProbability,
  xtc_threshold: defaultSampling.xtcThreshold,
  typical_p: defaultSampling.typical,
  repeat_last_n: defaultSampling.repetitionRange,
  repeat_penalty: defaultSampling.repetitionPenalty,
  presence_penalty: defaultSampling.presencePenalty,
  dry_multiplier: defaultSampling.dryMultiplier,
  dry_base: defaultSampling.dryBase,
  dry_allowed_length: defaultSampling.dryAllowedLength,
  dry_penalty_last_n: defaultSampling.dryRange,
  mirostat: defaultSampling.mirostat,
  mirostat_tau: defaultSampling.mirostatTau,
  mirostat_eta: defaultSampling.mirostatEta,
  adaptive_target: defaultSampling.adaptiveTarget,
  adaptive_decay: defaultSampling.adaptiveDecay,
} as const;

/** A server that was started without a text model is as well as it was meant to be. */
function health(state: TextState): Reply {
  switch (state.type) {
    case 'ready':
    case 'none':
      return json({ status: 'ok' });
    case 'loading':
      return json(errorBody(503, 'Loading model'), 503);
    case 'failed':
      return json(errorBody(500, `${state.name} could not be loaded: ${state.reason}`), 500);
  }
}
