import { type SamplingName, samplersOfApi } from '../../core/sampling-fields.ts';

/** Capabilities and field names of one kind of backend. */
interface KindTraits {
  /** Product name. */
  readonly title: string;
  /** Supported samplers and their field names. Others are reported to the client as ignored. */
  readonly samplers: Readonly<Partial<Record<SamplingName, string>>>;
  /** Fields for a GBNF grammar; undefined if unsupported. */
  readonly grammar?: (gbnf: string) => Readonly<Record<string, unknown>>;
  /** Whether it accepts `chat_template_kwargs`. */
  readonly templateVariables: boolean;
  /** Whether it accepts `reasoning_effort`. Otherwise reasoning can only be switched off by the template. */
  readonly effort: boolean;
  /** Fields that make it continue the last assistant message; undefined if unsupported. */
  readonly continues?: Readonly<Record<string, unknown>>;
  /** Whether it separates reasoning from the text for every model. */
  readonly separatesThinking: boolean;
  /** Whether it accepts the fields of the native API. */
  readonly native: boolean;
  /** Health check. None for image backends, which may not respond while they compute. */
  readonly healthPath: string | undefined;
}

/** A kind with nothing but the OpenAI API, and what it has beyond that. */
function kind(
  title: string,
  api: Parameters<typeof samplersOfApi>[0],
  traits: Partial<Omit<KindTraits, 'title' | 'samplers'>> = {},
): KindTraits {
  const none = { templateVariables: false, effort: false, separatesThinking: false, native: false };
  return { title, samplers: samplersOfApi(api), ...none, healthPath: '/health', ...traits };
}

const native = {
  grammar: (gbnf: string) => ({ grammar: gbnf }),
  templateVariables: true,
  effort: true,
  continues: { continue_assistant_turn: true },
  native: true,
};

/**
 * Products that can be a backend. Text backends have the OpenAI API and differ in their extensions. Image backends have their own
 * APIs (`drawing/`): `a1111` is also sd-server, KoboldCpp, Forge and SD.Next.
 */
export const kinds = {
  parley: kind('Parley', 'native', { ...native, separatesThinking: true }),
  koboldcpp: kind('KoboldCpp', 'native', native),
  'llama-server': kind('llama-server', 'llamaCpp', {
    grammar: native.grammar,
    templateVariables: true,
    // It continues the last assistant message by default.
    continues: {},
    separatesThinking: true,
  }),
  vllm: kind('vLLM', 'vllm', {
    grammar: (gbnf) => ({ structured_outputs: { grammar: gbnf } }),
    templateVariables: true,
    effort: true,
    continues: { continue_final_message: true, add_generation_prompt: false },
  }),
  sglang: kind('SGLang', 'vllm', {
    grammar: (gbnf) => ({ ebnf: gbnf }),
    templateVariables: true,
    effort: true,
    continues: { continue_final_message: true },
  }),
  tgi: kind('TGI', 'openai'),
  // An unknown backend may have no /health.
  openai: kind('an OpenAI-compatible server', 'openai', { effort: true, healthPath: '/v1/models' }),
  a1111: kind('A1111', 'openai', { healthPath: undefined }),
  comfyui: kind('ComfyUI', 'openai', { healthPath: undefined }),
};

export type RemoteKind = keyof typeof kinds;
