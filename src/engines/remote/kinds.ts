import { type SamplingName, samplersOfApi } from '../../core/sampling-fields.ts';

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

const drawing = {
  samplers: samplersOfApi('openai'),
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
    samplers: samplersOfApi('native'),
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
    samplers: samplersOfApi('native'),
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
    samplers: samplersOfApi('llamaCpp'),
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
    samplers: samplersOfApi('vllm'),
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
    samplers: samplersOfApi('vllm'),
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
    samplers: samplersOfApi('openai'),
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
    samplers: samplersOfApi('openai'),
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
