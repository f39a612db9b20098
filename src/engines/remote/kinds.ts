import { type SamplingName, samplersOfApi } from '../../core/sampling-fields.ts';

/**
 * Who answers over there. Those that write speak the OpenAI API, and what each takes beside it differs. Those that draw have APIs of
 * their own (`drawing/`): `a1111` is also sd-server, KoboldCpp, Forge and SD.Next.
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

/** What one kind of engine knows, and by which names. */
export interface KindTraits {
  /** As people know it. */
  readonly title: string;
  /** The samplers that it has; what is not here is told to the client where it asks for it. */
  readonly samplers: Readonly<Partial<Record<SamplingName, string>>>;
  /** How a grammar in GBNF is put into a request; undefined where none can be. */
  readonly grammar: ((gbnf: string) => Readonly<Record<string, unknown>>) | undefined;
  /** Whether it takes variables for the template of the model. */
  readonly templateVariables: boolean;
  /** Whether a level of effort is understood; without, only thinking or none can be chosen, by the template. */
  readonly effort: boolean;
  /** Whether a last turn of the assistant can be gone on with, and how that is said. */
  readonly continues: Readonly<Record<string, unknown>> | undefined;
  /** Whether thinking comes apart from the text, whatever the model. */
  readonly separatesThinking: boolean;
  /** Fields of the native API that it takes as they are. */
  readonly native: boolean;
  /** Where it is asked whether it is well. Without a path it is not asked: one that draws may answer nothing meanwhile. */
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
    // It does so by itself where the last turn is the assistant's.
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
    // Whoever says nothing of itself may not have the other path.
    healthPath: '/v1/models',
  },
  a1111: { ...drawing, title: 'A1111' },
  comfyui: { ...drawing, title: 'ComfyUI' },
};
