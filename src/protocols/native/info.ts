import type { Settings } from '../../config/flags.ts';
import { hiddenModelName } from '../../core/model-names.ts';
import type { Product } from '../../core/product.ts';
import type { CacheReport, Performance, SnapshotFigures, TextService, TextState } from '../../core/text-service.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { information, read } from '../access.ts';
import type { DialectContext } from '../dialect.ts';
import { atPaths, type EndpointShape, endpointRow, jsonText, type ModelEndpoint } from '../endpoint.ts';
import { snakeCase } from '../snake-case.ts';
import { nativeDialect } from './errors.ts';
import { type VersionServices, versionBody } from './version.ts';

const koboldAiVersion = '1.2.5';

/** What is the same for all models. */
export interface InfoServices extends VersionServices {
  readonly product: Product & { readonly homepage?: string };
  /** How many tasks of other kinds were done, by their names in the performance reply. */
  readonly counters: () => Readonly<Record<string, number>>;
  /** Whether this caller may see words of anybody's prompts. */
  readonly seesPrompts: (call: Call) => boolean;
}

export interface InfoContext extends InfoServices, Pick<DialectContext, 'text' | 'modelName' | 'taskServices'> {
  /** `--hordegenlen` and `--hordemaxctx` are limits that clients read, but that are not enforced; 0 means none. */
  readonly settings: Pick<Settings, 'hordegenlen' | 'hordemaxctx' | 'quiet' | 'debugmode' | 'enableguidance' | 'jinja'>;
  /** The content of the story file, as JSON. */
  readonly preloadStory?: string | Uint8Array | undefined;
}

const row = endpointRow(information, { method: 'GET', dialect: nativeDialect });

type Answer = (call: Call, context: InfoContext) => unknown;

function info(path: string, summary: string, response: string, answer: Answer, own: Partial<EndpointShape> = {}) {
  return row(path, summary, (call, context: InfoContext) => json(answer(call, context)), { ...own, response });
}

function twice(path: string, summary: string, response: string, answer: Answer): readonly ModelEndpoint<InfoContext>[] {
  return atPaths(info(`/api/v1/${path}`, summary, response, answer), `/api/latest/${path}`);
}

export const infoEndpoints: readonly ModelEndpoint<InfoContext>[] = [
  ...twice('model', 'The name of the text model.', 'text', ({ authorized }, { modelName }) => ({
    result: authorized ? modelName() : hiddenModelName,
  })),
  ...twice('config/max_length', 'The longest reply that is advertised.', 'count', (_, { settings }) => ({
    value: settings.hordegenlen || 1024,
  })),
  ...twice('config/max_context_length', 'The context that is advertised.', 'count', (_, { text, settings }) => ({
    value: Math.min(text.contextSize(), settings.hordemaxctx || Number.POSITIVE_INFINITY),
  })),
  ...twice('config/soft_prompt', 'Soft prompts are a thing of the past: always empty.', 'softPrompt', () => ({
    value: '',
  })),
  ...twice('config/soft_prompts_list', 'Always empty.', 'softPrompts', () => ({ values: [] })),
  ...twice('info/version', 'The level of the KoboldAI API.', 'text', () => ({ result: koboldAiVersion })),
  info('/api/extra/true_max_context_length', 'The context that the server has.', 'count', (_, { text }) => ({
    value: text.contextSize(),
  })),
  info('/api/extra/version', 'The version, and which features are there.', 'version', (_, context) =>
    versionBody(context),
  ),
  info('/api/extra/perf', 'The speed of the last generation, and the queue.', 'performance', performanceBody),
  info('/.well-known/serviceinfo', 'Which APIs are here, for programs that look for them.', 'serviceInfo', serviceInfo),
  info('/ping', 'Answers as long as the server runs.', 'ping', () => ({ status: 'healthy' }), { match: 'exact' }),
  row('/api/extra/preloadstory', 'The story that clients open at first.', story, { match: 'exact', response: 'story' }),
];

const stopReasons: Record<Performance['stop'], number> = {
  error: -2,
  none: -1,
  limit: 0,
  'end-token': 1,
  'stop-text': 2,
};

function performanceBody({ authorized }: Call, context: InfoContext): object {
  const figures = context.text.performance();
  const state = shownState(context.text.state(), authorized);
  const counters = context.counters();
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
    quiet: context.settings.quiet && context.settings.debugmode !== 1,
    loading: state.type === 'loading' && !state.asleep ? { name: state.name, progress: state.progress } : null,
    ...(state.type === 'failed' ? { failed: { name: state.name, reason: state.reason } } : {}),
  };
}

/** Clients without the key do not see the name of a model that is loaded or has failed to load. */
function shownState(state: TextState, authorized: boolean): TextState {
  if (authorized || (state.type !== 'loading' && state.type !== 'failed')) return state;
  const name = hiddenModelName;
  return state.type === 'failed' ? { ...state, name, reason: 'see the log of the server' } : { ...state, name };
}

function perSecond(milliseconds: number): number {
  return milliseconds > 0 ? 1000 / milliseconds : 0;
}

function serviceInfo(_: Call, { product }: InfoContext): object {
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

/** Private: without the key the reply is the one of a server that has no story. */
function story({ authorized }: Call, { preloadStory }: InfoContext): Reply {
  return jsonText(authorized && preloadStory !== undefined ? preloadStory : '{}');
}

interface CacheContext extends Pick<InfoServices, 'seesPrompts'> {
  readonly text: Pick<TextService, 'cacheReport'>;
}

/** Guarded: it shows pieces of prompts. The cache is one for all keys, so that only administrators see words where there are keys. */
export const cacheEndpoint = row(
  '/api/extra/cache',
  'What is kept of earlier prompts, and where the last prompts parted from it.',
  async (call, { text, seesPrompts }: CacheContext) => json(cacheBody(await text.cacheReport(), seesPrompts(call))),
  { ...read('text'), response: 'cache' },
);

const noWords = { before: '', kept: '', wanted: '' };

function cacheBody({ slots, pool, memory, disk, misses }: CacheReport, withWords: boolean): object {
  const seen = withWords ? misses : misses.map((miss) => ({ ...miss, ...noWords }));
  return {
    slots,
    ...(pool && { pool }),
    memory: memory && figures(memory),
    disk: disk && figures(disk),
    misses: snakeCase(seen.map(({ time, ...miss }) => ({ time: new Date(time).toISOString(), ...miss }))),
  };
}

function figures({ snapshots, bytes, limitBytes, health }: SnapshotFigures): object {
  if (!health) return { snapshots, bytes, ...(limitBytes === undefined ? {} : { limit_bytes: limitBytes }) };
  const { otherBytes, failures, lastFailure } = health;
  return { snapshots, bytes, other_bytes: otherBytes, failures, last_failure: lastFailure };
}
