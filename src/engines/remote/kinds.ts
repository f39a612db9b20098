import type { ImageFacts } from '../../core/image.ts';
import { type SamplingName, samplersOfApi } from '../../core/sampling-fields.ts';
import type { ImageServer } from './image-servers/server.ts';
import { listAt, numberAt, objectAt, textAt } from './json.ts';

/** Capabilities and field names of one kind of backend. */
interface KindTraits {
  readonly title: string;
  /** Supported samplers and their field names. Others are reported to the client as ignored. */
  readonly samplers: Readonly<Partial<Record<SamplingName, string>>>;
  /** Fields for a GBNF grammar; undefined if unsupported. */
  readonly grammar?: (gbnf: string) => Readonly<Record<string, unknown>>;
  /** Whether it accepts `chat_template_kwargs`. */
  readonly templateVariables?: boolean;
  /** Whether it accepts `reasoning_effort`. Otherwise reasoning can only be switched off by the template. */
  readonly effort?: boolean;
  /** Fields that make it continue the last assistant message; undefined if unsupported. */
  readonly continues?: Readonly<Record<string, unknown>>;
  /** Whether it separates reasoning from the text for every model. */
  readonly separatesThinking?: boolean;
  /** Whether its streams tell how far the prompt is processed, with `return_progress`. */
  readonly reportsProgress?: boolean;
  /** Whether it accepts the fields of the native API. */
  readonly native?: boolean;
  /** Health check. None for image backends, which may not respond while they compute. */
  readonly healthPath: string | undefined;
}

/** A kind with nothing but the OpenAI API, and what it has beyond that. */
function kind(
  title: string,
  api: Parameters<typeof samplersOfApi>[0],
  traits: Partial<Omit<KindTraits, 'title' | 'samplers'>> = {},
): KindTraits {
  return { title, samplers: samplersOfApi(api), healthPath: '/health', ...traits };
}

const native = {
  grammar: (gbnf: string) => ({ grammar: gbnf }),
  templateVariables: true,
  effort: true,
  continues: { continue_assistant_turn: true },
  native: true,
};

/** Products that can be a backend. Those for images have their own APIs; `a1111` is also sd-server, KoboldCpp, Forge and SD.Next. */
export const kinds = {
  parley: kind('Parley', 'native', { ...native, separatesThinking: true, reportsProgress: true }),
  koboldcpp: kind('KoboldCpp', 'native', native),
  'llama-server': kind('llama-server', 'llamaCpp', {
    grammar: native.grammar,
    templateVariables: true,
    // It continues the last assistant message by default.
    continues: {},
    separatesThinking: true,
    reportsProgress: true,
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
  // Servers of speech and transcription have no path in common.
  audio: kind('an audio server', 'openai', { healthPath: undefined }),
};

export type RemoteKind = keyof typeof kinds;

export interface RemoteModel {
  /** Name on the backend. */
  readonly id: string;
  /** Name in our model lists. */
  readonly name: string;
  readonly contextSize: number | undefined;
  readonly embeds: boolean;
}

/** What a probe found. */
export interface Identity {
  readonly kind: RemoteKind;
  /** Of the product, where several have the API of this kind. */
  readonly title?: string;
  readonly models: readonly RemoteModel[];
  /** Supported media. True if unknown: the backend then rejects it. */
  readonly inputs: { readonly image: boolean; readonly audio: boolean };
  /** Only for backends with their own image API. */
  readonly imageServer?: { readonly server: ImageServer; readonly facts: ImageFacts };
}

export const titleOf = ({ kind, title }: Pick<Identity, 'kind' | 'title'>): string => title ?? kinds[kind].title;

type Fields = ReturnType<typeof objectAt>;
type AnswerOf = (path: string) => Fields;

/** Identifies a backend by its models and by paths that only some products have; `look` gives undefined without one. */
export async function identify(list: unknown, look: (path: string) => Promise<unknown>): Promise<Identity> {
  const { data, models: second } = objectAt(list);
  const entries = listAt(data).map(objectAt);
  // Parley has its built-in embeddings model only in the second list, which has names instead of ids.
  const others = listAt(second)
    .map(objectAt)
    .filter(({ name, capabilities }) => isEmbedding(capabilities) && !entries.some(({ id }) => id === name))
    .map((entry) => ({ ...entry, id: entry.name }));
  const owner = textAt(entries[0]?.owned_by) ?? '';
  const paths = pathsFor[owner] ?? allPaths;
  const answers = new Map(await Promise.all(paths.map(async (path) => [path, objectAt(await look(path))] as const)));
  const answer = (path: string): Fields => answers.get(path) ?? {};
  const kind = kindOf(owner, answer);
  return {
    kind,
    models: [...entries, ...others].flatMap((entry) => modelOf(entry, contextOf(kind, answer))),
    inputs: inputsOf(kind, answer),
  };
}

const [nativePath, propsPath, infoPath, versionPath] = ['/api/extra/version', '/props', '/info', '/version'] as const;
const allPaths = [nativePath, propsPath, infoPath, versionPath];
/** Paths to probe if `owned_by` already names the product. */
const pathsFor: Readonly<Record<string, readonly string[]>> = {
  koboldcpp: [nativePath],
  llamacpp: [propsPath],
  vllm: [],
  sglang: [],
};

const owners: Readonly<Record<string, RemoteKind>> = { llamacpp: 'llama-server', vllm: 'vllm', sglang: 'sglang' };

function kindOf(owner: string, answer: AnswerOf): RemoteKind {
  const native = answer(nativePath);
  if (native.parley !== undefined) return 'parley';
  if (native.result === 'KoboldCpp') return 'koboldcpp';
  const named = owners[owner];
  if (named) return named;
  if (answer(propsPath).default_generation_settings !== undefined) return 'llama-server';
  if (answer(infoPath).model_id !== undefined) return 'tgi';
  return textAt(answer(versionPath).version) === undefined ? 'openai' : 'vllm';
}

function contextOf(kind: RemoteKind, answer: AnswerOf): number | undefined {
  if (kind === 'llama-server') return numberAt(objectAt(answer(propsPath).default_generation_settings).n_ctx);
  return kind === 'tgi' ? numberAt(answer(infoPath).max_total_tokens) : undefined;
}

function inputsOf(kind: RemoteKind, answer: AnswerOf): Identity['inputs'] {
  if (kind === 'parley' || kind === 'koboldcpp') {
    const { vision, audio } = answer(nativePath);
    return { image: vision === true, audio: audio === true };
  }
  const { vision, audio } = objectAt(answer(propsPath).modalities);
  return { image: vision !== false, audio: audio !== false };
}

const isEmbedding = (capabilities: unknown): boolean => listAt(capabilities).includes('embedding');

function modelOf(entry: Fields, defaultContext: number | undefined): readonly RemoteModel[] {
  const id = textAt(entry.id);
  if (!id) return [];
  const own = numberAt(entry.max_model_len) ?? numberAt(entry.context_length);
  const embeds = isEmbedding(entry.capabilities);
  return [{ id, name: shortName(id), contextSize: own ?? defaultContext, embeds }];
}

/** Without folder, organisation or family. */
export function shortName(id: string): string {
  return id.replace(/^.*\//, '').replace(/\.gguf$/i, '') || id;
}
