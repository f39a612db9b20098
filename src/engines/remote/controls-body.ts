import { AppError } from '../../core/errors.ts';
import type { GenerationControls } from '../../core/request.ts';
import {
  defaultSampling,
  isRequested,
  type SamplingField,
  samplerStages,
  samplingFields,
  samplingNames,
} from '../../core/sampling-fields.ts';
import { kinds, type RemoteKind } from './kinds.ts';

export type Body = Readonly<Record<string, unknown>>;

export interface ControlsBody {
  readonly fields: Body;
  /** Controls that the backend does not support, by their names in the native API. */
  readonly unheeded: readonly string[];
}

export interface ControlFacts {
  readonly kind: RemoteKind;
  /** Address for messages. */
  readonly host: string;
  /** Seed for requests without one. */
  readonly seed: number;
}

type Send = (controls: GenerationControls) => Body;

/** A control other than a sampler: when it has an effect, and its field per kind of backend. */
interface ControlRule {
  readonly field: string;
  readonly asks: (controls: GenerationControls) => boolean;
  readonly send: Partial<Record<RemoteKind, Send>>;
}

/** Both accept the fields of the native API. */
const nativeKinds = (send: Send): ControlRule['send'] => ({ parley: send, koboldcpp: send });
const vllmKinds = (send: Send): ControlRule['send'] => ({ vllm: send, sglang: send });

const sendBiases: Send = ({ logitBias, bannedTokens }) => ({
  logit_bias: Object.fromEntries([...logitBias, ...bannedTokens.map((token) => [token, -100] as const)]),
});
const withoutCache: Send = () => ({ cache_prompt: false });

const rules: readonly ControlRule[] = [
  {
    field: 'trim_stop',
    asks: ({ trimStop, stop }) => !trimStop && stop.length > 0,
    send: {
      ...nativeKinds(() => ({ trim_stop: false })),
      vllm: () => ({ include_stop_str_in_output: true }),
      sglang: () => ({ no_stop_trim: true }),
    },
  },
  {
    field: 'ban_eos_token',
    asks: ({ endTokens }) => endTokens === 'ban',
    send: {
      ...nativeKinds(() => ({ ban_eos_token: true })),
      ...vllmKinds(({ maxTokens }) => ({ min_tokens: maxTokens })),
      'llama-server': () => ({ ignore_eos: true }),
    },
  },
  {
    field: 'bypass_eos',
    asks: ({ endTokens }) => endTokens === 'ignore',
    send: { ...nativeKinds(() => ({ bypass_eos: true })), ...vllmKinds(() => ({ ignore_eos: true })) },
  },
  {
    field: 'logit_bias',
    asks: ({ logitBias, bannedTokens }) => logitBias.length + bannedTokens.length > 0,
    send: {
      ...nativeKinds(sendBiases),
      ...vllmKinds(sendBiases),
      'llama-server': sendBiases,
      openai: sendBiases,
    },
  },
  {
    field: 'banned_tokens',
    asks: ({ bannedStrings }) => bannedStrings.length > 0,
    send: {
      ...nativeKinds(({ bannedStrings }) => ({ banned_tokens: bannedStrings })),
      vllm: ({ bannedStrings }) => ({ bad_words: bannedStrings }),
    },
  },
  {
    field: 'guidance_scale',
    asks: ({ guidance }) => guidance !== undefined && guidance.scale !== 1,
    send: nativeKinds(({ guidance }) => ({
      negative_prompt: guidance?.negativePrompt,
      guidance_scale: guidance?.scale,
    })),
  },
  {
    field: 'render_special',
    asks: ({ renderSpecial }) => renderSpecial !== false,
    send: {
      ...nativeKinds(() => ({ render_special: true })),
      ...vllmKinds(() => ({ skip_special_tokens: false })),
    },
  },
  {
    field: 'max_context_length',
    asks: ({ maxContext }) => maxContext !== undefined,
    send: nativeKinds(({ maxContext }) => ({ max_context_length: maxContext })),
  },
  {
    field: 'cache_prompt',
    asks: ({ freshPrompt }) => freshPrompt === true,
    send: { ...nativeKinds(withoutCache), 'llama-server': withoutCache },
  },
  {
    field: 'sampler_order',
    asks: ({ sampling }) => sampling.order.join() !== defaultSampling.order.join(),
    send: nativeKinds(({ sampling }) => ({
      sampler_order: sampling.order.map((stage) => samplerStages.indexOf(stage)),
    })),
  },
  {
    field: 'dry_sequence_breakers',
    // If DRY is unsupported, that alone is reported.
    asks: ({ sampling }) => sampling.dryMultiplier > 0 && sampling.dryBreakers.length > 0,
    send: {
      ...nativeKinds(({ sampling }) => ({ dry_sequence_breakers: sampling.dryBreakers })),
      'llama-server': ({ sampling }) => ({ dry_sequence_breakers: sampling.dryBreakers }),
    },
  },
];

/** Sampling fields for the backend. Throws for controls that must not be ignored. */
export function controlsBody(controls: GenerationControls, facts: ControlFacts): ControlsBody {
  const { kind } = facts;
  const samplers = samplersBody(controls, facts);
  const asked = rules.filter(({ asks }) => asks(controls));
  const told = asked.filter(({ send }) => send[kind]);
  return {
    fields: {
      max_tokens: controls.maxTokens,
      ...(controls.stop.length > 0 ? { stop: controls.stop } : {}),
      ...samplers.fields,
      ...Object.assign({}, ...told.map(({ send }) => send[kind]?.(controls))),
      ...grammarBody(controls, facts),
    },
    unheeded: [...samplers.unheeded, ...asked.filter(({ send }) => !send[kind]).map(({ field }) => field)],
  };
}

function samplersBody({ sampling }: GenerationControls, { kind, seed }: ControlFacts): ControlsBody {
  const { samplers, native } = kinds[kind];
  const fields: Record<string, unknown> = {};
  const unheeded: string[] = [];
  for (const name of samplingNames) {
    const { wire, alwaysSent }: SamplingField = samplingFields[name];
    const known = samplers[name];
    const requested = isRequested(name, sampling);
    if (known === undefined) {
      if (requested) unheeded.push(wire[0]);
    } else if (native || requested || alwaysSent) fields[known] = sampling[name];
  }
  // A seed per request is slow on some backends; Parley and KoboldCpp draw one anyway.
  if (native) fields.seed = seed;
  if ((kind === 'vllm' || kind === 'sglang') && sampling.topK <= 0) fields.top_k = -1;
  return { fields, unheeded };
}

/** Rejected rather than ignored: clients would parse the reply as if it matched. */
function grammarBody({ grammar, promptLogprobs }: GenerationControls, { kind, host }: ControlFacts): Body {
  const refuse = (feature: string): never => {
    throw new AppError('unsupported', {
      feature,
      instead: `the engine at ${host} (${kinds[kind].title}) has no such thing`,
    });
  };
  if (promptLogprobs !== undefined) refuse('prompt_logprobs');
  if (!grammar) return {};
  const put = kinds[kind].grammar;
  if (!put || grammar.triggers) return refuse(grammar.triggers ? 'grammar_triggers' : 'grammar');
  return { ...put(grammar.gbnf), ...(grammar.retainState && kinds[kind].native ? { grammar_retain_state: true } : {}) };
}
