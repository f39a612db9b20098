import { hiddenModelName } from '../../core/model-names.ts';
import type { Performance, TextService, TextState } from '../../core/text-service.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import type { ModelEndpoint } from '../endpoint.ts';
import { nativeFamily } from './errors.ts';

/** The level of this API that clients test feature by feature; not the version of this program. */
const koboldVersion = '1.122.1';
const koboldAiVersion = '1.2.5';

/** What can be switched on, by the names of the version reply and in its order. */
const featureNames = [
  'txt2img',
  'vision',
  'audio',
  'transcribe',
  'multiplayer',
  'websearch',
  'tts',
  'embeddings',
  'music',
  'musicllm',
  'savedata',
  'admin',
  'router',
  'guidance',
  'jinja',
  'mcp',
] as const;
type FeatureName = (typeof featureNames)[number];

/** `admin` is 1 without a password of its own and 2 with one; what is left out is off. */
export type Features = { readonly [Name in Exclude<FeatureName, 'admin'>]?: boolean } & {
  readonly protected: boolean;
  readonly admin?: 0 | 1 | 2;
};

export interface InfoParts {
  readonly text: TextService;
  readonly product: { readonly name: string; readonly version: string; readonly homepage?: string };
  readonly modelName: () => string;
  readonly features: () => Features;
  /** How many tasks of other kinds were done, by their names in the performance reply. */
  readonly counters: () => Readonly<Record<string, number>>;
  /** Limits that are told to clients, but not kept; 0 means none. */
  readonly advertised: { readonly maxLength: number; readonly maxContext: number };
  readonly quiet: boolean;
  /** The content of the story file, as JSON. */
  readonly preloadStory?: string | Uint8Array | undefined;
}

type Answer = (call: Call, parts: InfoParts) => unknown;

export const infoEndpoints: readonly ModelEndpoint<InfoParts>[] = [
  ...twice('model', 'The name of the text model.', ({ authorized }, { modelName }) => ({
    result: authorized ? modelName() : hiddenModelName,
  })),
  ...twice('config/max_length', 'The longest reply that is advertised.', (_, { advertised }) => ({
    value: advertised.maxLength || 1024,
  })),
  ...twice('config/max_context_length', 'The context that is advertised.', (_, parts) => ({
    value: advertisedContext(parts),
  })),
  ...twice('config/soft_prompt', 'Soft prompts are a thing of the past: always empty.', () => ({ value: '' })),
  ...twice('config/soft_prompts_list', 'Always empty.', () => ({ values: [] })),
  ...twice('info/version', 'The level of the KoboldAI API.', () => ({ result: koboldAiVersion })),
  open('/api/extra/true_max_context_length', 'The context that the server has.', (_, { text }) => ({
    value: text.contextSize(),
  })),
  open('/api/extra/version', 'The version, and which features are there.', (_, parts) => version(parts)),
  open(
    '/api/extra/perf',
    'The speed of the last generation, and the queue.',
    ({ authorized }, { text, counters, quiet }) =>
      performanceBody(text.performance(), shownState(text.state(), authorized), counters(), quiet),
  ),
  open('/.well-known/serviceinfo', 'Which APIs are here, for programs that look for them.', (_, parts) =>
    serviceInfo(parts),
  ),
  { ...open('/ping', 'Answers as long as the server runs.', () => ({ status: 'healthy' })), match: 'exact' },
  {
    ...open('/api/extra/preloadstory', 'The story that clients open at first.', () => ({})),
    match: 'exact',
    handle: (call, { preloadStory }) => story(call, preloadStory),
  },
];

function advertisedContext({ text, advertised: { maxContext } }: InfoParts): number {
  return maxContext > 0 ? Math.min(text.contextSize(), maxContext) : text.contextSize();
}

function open(path: string, summary: string, answer: Answer): ModelEndpoint<InfoParts> {
  return {
    method: 'GET',
    match: 'ending',
    path,
    access: 'open',
    queued: false,
    summary,
    family: nativeFamily,
    handle: (call, parts) => json(answer(call, parts)),
  };
}

function twice(path: string, summary: string, answer: Answer): readonly ModelEndpoint<InfoParts>[] {
  return [
    open(`/api/v1/${path}`, summary, answer),
    open(`/api/latest/${path}`, `Another name for /api/v1/${path}.`, answer),
  ];
}

function version({ text, product, features }: InfoParts): object {
  const state = text.state();
  const on = { ...senses(state), ...features() };
  return {
    result: 'KoboldCpp',
    version: koboldVersion,
    protected: on.protected,
    llm: state.type === 'ready' || state.type === 'loading',
    ...Object.fromEntries(featureNames.map((name) => [name, on[name] ?? (name === 'admin' ? 0 : false)])),
    parley: { name: product.name, version: product.version },
  };
}

/** What the loaded model takes beside text. */
function senses(state: TextState): Pick<Features, 'vision' | 'audio'> {
  if (state.type !== 'ready') return {};
  const { image, audio } = state.model.inputs;
  return { vision: image, audio };
}

const stopReasons: Record<Performance['stop'], number> = {
  error: -2,
  none: -1,
  limit: 0,
  'end-token': 1,
  'stop-text': 2,
};

function performanceBody(
  figures: Performance,
  state: TextState,
  counters: Readonly<Record<string, number>>,
  quiet: boolean,
): object {
  const { processMsPerToken, evalMsPerToken, promptTokens, processedTokens, completionTokens } = figures;
  return {
    last_process: processMsPerToken,
    last_eval: evalMsPerToken,
    last_token_count: completionTokens,
    last_input_count: promptTokens,
    last_reused_count: figures.reusedTokens,
    last_process_time: (processMsPerToken * processedTokens) / 1000,
    last_eval_time: (evalMsPerToken * completionTokens) / 1000,
    last_process_speed: perSecond(processMsPerToken),
    last_eval_speed: perSecond(evalMsPerToken),
    last_seed: figures.seed,
    last_draft_success: figures.draftAccepted,
    last_draft_failed: figures.draftRejected,
    total_gens: figures.generations,
    stop_reason: stopReasons[figures.stop],
    ...counters,
    queue: figures.waiting,
    queue_estimate: figures.estimateSeconds,
    idle: figures.idle ? 1 : 0,
    hordeexitcounter: -1,
    uptime: figures.uptimeSeconds,
    idletime: figures.idleSeconds,
    quiet,
    loading: state.type === 'loading' && !state.asleep ? { name: state.name, progress: state.progress } : null,
    ...(state.type === 'failed' ? { failed: { name: state.name, reason: state.reason } } : {}),
  };
}

/** Without the key nobody learns the name of a model from the way it is loaded. */
function shownState(state: TextState, authorized: boolean): TextState {
  if (authorized || (state.type !== 'loading' && state.type !== 'failed')) return state;
  const name = hiddenModelName;
  return state.type === 'failed' ? { ...state, name, reason: 'see the log of the server' } : { ...state, name };
}

function perSecond(milliseconds: number): number {
  return milliseconds > 0 ? 1000 / milliseconds : 0;
}

function serviceInfo({ product }: InfoParts): object {
  const homepage = product.homepage ?? '';
  return {
    version: '0.2',
    software: { name: product.name, version: product.version, repository: homepage, homepage, logo: '' },
    api: {
      koboldai: { name: 'KoboldAI API', rel_url: '/api', documentation: '/api', version: koboldAiVersion },
      // Readers of the original learned to look for the key with the space; both are there.
      openai: { name: 'OpenAI API', rel_url: '/v1', 'rel_url ': '/v1', documentation: '/api', version: '1' },
    },
  };
}

/** Somebody wrote this story: without the key it stays hidden, in a way that clients take for "there is none". */
function story(call: Call, content: InfoParts['preloadStory']): Reply {
  const body = call.authorized && content !== undefined ? content : '{}';
  return { status: 200, headers: { 'content-type': 'application/json' }, body };
}
