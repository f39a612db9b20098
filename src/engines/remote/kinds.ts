import { type Sampling, type SamplingName, samplingFields } from '../../core/sampling-fields.ts';

/**
 * Products that can be a backend. Text backends have the OpenAI API and differ in their extensions. Image backends have APIs of their
 * own (`drawing/`): `a1111` is also sd-server, KoboldCpp, Forge and SD.Next.
 */
export type RemoteKind =
  | 'parley'
  | 'koboldcpp'
  | 'llama-server'
  | 'vllm'
  | 'sglang'
  | 'tgi'
  | 'openai'
  | 'a1111'
  | 'comfyui';

/** Capabilities and field names of one kind of backend. */
export interface KindTraits {
  /** Product name. */
  readonly title: string;
  /** Supported samplers and their field names. Others are reported to the client as ignored. */
  readonly samplers: Readonly<Partial<Record<SamplingName, string>>>;
  /** Fields for a GBNF grammar; undefined if unsupported. */
  readonly grammar: ((gbnf: string) => Readonly<Record<string, unknown>>) | undefined;
  /** Whether it accepts `chat_template_kwargs`. */
  readonly templateVariables: boolean;
  /** Whether it accepts `reasoning_effort`. Otherwise reasoning can only be switched off by the template. */
  readonly effort: boolean;
  /** Fields that make it continue the last assistant message; undefined if unsupported. */
  readonly continues: Readonly<Record<string, unknown>> | undefined;
  /** Whether it separates reasoning from the text for every model. */
  readonly separatesThinking: boolean;
  /** Whether it accepts the fields of the native API. */
  readonly native: boolean;
  /** Health check. None for image backends, which may not respond while they compute. */
  readonly healthPath: string | undefined;
}

const standard = {
  temperature: 'temperature',
  topP: 'top_p',
  presencePenalty: 'presence_penalty',
  frequencyPenalty: 'frequency_penalty',
  seed: 'seed',
} as const;

const widespread = { ...standard, topK: 'top_k', minP: 'min_p', repetitionPenalty: 'repetition_penalty' } as const;

/** All backends use the seed's name of the OpenAI API. */
const native = {
  ...(Object.fromEntries(Object.entries(samplingFields).map(([name, { wire }]) => [name, wire[0]])) as Readonly<
    Record<SamplingName, string>
  >),
  seed: 'seed',
};

const llamaServer = {
  ...standard,
  topK: 'top_k',
  minP: 'min_p',
  typical: 'typical_p',
  nSigma: 'top_n_sigma',
  dynamicRange: 'dynatemp_range',
  dynamicExponent: 'dynatemp_exponent',
  xtcThreshold: 'xtc_threshold',
  xtcProbability: 'xtc_probability',
  repetitionPenalty: 'repeat_penalty',
  repetitionRange: 'repeat_last_n',
  dryMultiplier: 'dry_multiplier',
  dryBase: 'dry_base',
  dryAllowedLength: 'dry_allowed_length',
  dryRange: 'dry_penalty_last_n',
  mirostat: 'mirostat',
  mirostatTau: 'mirostat_tau',
  mirostatEta: 'mirostat_eta',
  adaptiveTarget: 'adaptive_target',
  adaptiveDecay: 'adaptive_decay',
} as const;

const drawing = {
  samplers: standard,
  grammar: undefined,
  templateVariables: false,
  effort: false,
  continues: undefined,
  separatesThinking: false,
  native: false,
  healthPath: undefined,
};

export const kinds: Readonly<Record<RemoteKind, KindTraits>> = {
  parley: {
    title: 'Parley',
    samplers: native,
    grammar: (gbnf) => ({ grammar: gbnf }),
    templateVariables: true,
    effort: true,
    continues: { continue_assistant_turn: true },
    separatesThinking: true,
    native: true,
    healthPath: '/health',
  },
  koboldcpp: {
    title: 'KoboldCpp',
    samplers: native,
    grammar: (gbnf) => ({ grammar: gbnf }),
    templateVariables: true,
    effort: true,
    continues: { continue_assistant_turn: true },
    separatesThinking: false,
    native: true,
    healthPath: '/health',
  },
  'llama-server': {
    title: 'llama-server',
    samplers: llamaServer,
    grammar: (gbnf) => ({ grammar: gbnf }),
    templateVariables: true,
    effort: false,
    // It continues the last assistant message by default.
    continues: {},
    separatesThinking: true,
    native: false,
    healthPath: '/health',
  },
  vllm: {
    title: 'vLLM',
    samplers: widespread,
    grammar: (gbnf) => ({ structured_outputs: { grammar: gbnf } }),
    templateVariables: true,
    effort: true,
    continues: { continue_final_message: true, add_generation_prompt: false },
    separatesThinking: false,
    native: false,
    healthPath: '/health',
  },
  sglang: {
    title: 'SGLang',
    samplers: widespread,
    grammar: (gbnf) => ({ ebnf: gbnf }),
    templateVariables: true,
    effort: true,
    continues: { continue_final_message: true },
    separatesThinking: false,
    native: false,
    healthPath: '/health',
  },
  tgi: {
    title: 'TGI',
    samplers: standard,
    grammar: undefined,
    templateVariables: false,
    effort: false,
    continues: undefined,
    separatesThinking: false,
    native: false,
    healthPath: '/health',
  },
  openai: {
    title: 'an engine that says no more of itself',
    samplers: standard,
    grammar: undefined,
    templateVariables: false,
    effort: true,
    continues: undefined,
    separatesThinking: false,
    native: false,
    // An unknown backend may have no /health.
    healthPath: '/v1/models',
  },
  a1111: { ...drawing, title: 'A1111' },
  comfyui: { ...drawing, title: 'ComfyUI' },
};

/** Samplers that have an effect only with another one. */
const parts: Readonly<Partial<Record<SamplingName, (sampling: Sampling) => boolean>>> = {
  dynamicExponent: ({ dynamicRange }) => dynamicRange !== 0,
  smoothingCurve: ({ smoothingFactor }) => smoothingFactor > 0,
  xtcThreshold: ({ xtcProbability }) => xtcProbability > 0,
  repetitionRange: hasPenalty,
  repetitionSlope: ({ repetitionPenalty }) => repetitionPenalty !== 1,
  dryBase: ({ dryMultiplier }) => dryMultiplier > 0,
  dryAllowedLength: ({ dryMultiplier }) => dryMultiplier > 0,
  dryRange: ({ dryMultiplier }) => dryMultiplier > 0,
  mirostatTau: ({ mirostat }) => mirostat > 0,
  mirostatEta: ({ mirostat }) => mirostat > 0,
  adaptiveDecay: ({ adaptiveTarget }) => adaptiveTarget > 0,
};

const off: Readonly<Partial<Record<SamplingName, (value: number) => boolean>>> = {
  nSigma: (value) => value <= 0,
  topK: (value) => value <= 0,
  minP: (value) => value <= 0,
  topA: (value) => value <= 0,
  topP: (value) => value >= 1,
  typical: (value) => value >= 1,
  tailFree: (value) => value >= 1,
  xtcProbability: (value) => value <= 0,
  dryMultiplier: (value) => value <= 0,
  adaptiveTarget: (value) => value <= 0,
  mirostat: (value) => value !== 1 && value !== 2,
  seed: (value) => value <= 0,
};

/** Whether the value differs from the sampler being absent. */
export function asksFor(name: SamplingName, sampling: Sampling): boolean {
  const value = sampling[name];
  if (value === samplingFields[name].default || off[name]?.(value)) return false;
  return parts[name]?.(sampling) ?? true;
}

function hasPenalty({ repetitionPenalty, presencePenalty, frequencyPenalty }: Sampling): boolean {
  return repetitionPenalty !== 1 || presencePenalty !== 0 || frequencyPenalty !== 0;
}
