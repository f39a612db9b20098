import { read } from '../api/call.ts';
import { Failure } from '../api/failure.ts';
import { askForOwnership, currentKey, isSignedIn, signInAsBefore } from '../api/key.svelte.ts';
import { type ModelsAnswer, modelName } from './status.ts';

/** The program that serves this page; another one may serve the same API. */
export interface About {
  readonly name: string;
  readonly version: string;
  readonly commit?: string;
  /** Versions of packages, by engine kind. */
  readonly engines?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** Features from `GET /api/extra/version`. */
export interface Features {
  readonly result: string;
  readonly version: string;
  readonly protected: boolean;
  readonly llm: boolean;
  readonly txt2img: boolean;
  readonly vision: boolean;
  readonly audio: boolean;
  readonly transcribe: boolean;
  readonly tts: boolean;
  readonly embeddings: boolean;
  readonly websearch: boolean;
  readonly multiplayer: boolean;
  readonly mcp: boolean;
  readonly admin: number;
  readonly router: boolean;
  readonly savedata: boolean;
  readonly documents: boolean;
  readonly memories: boolean;
  readonly parley: About;
}

export interface Performance {
  readonly queue: number;
  readonly idle: number;
  readonly loading?: { readonly name: string; readonly progress: number } | null;
  readonly failed?: { readonly name: string; readonly reason: string } | null;
}

interface Server {
  /** `locked`: the server needs the password. */
  state: 'connecting' | 'ready' | 'unreachable' | 'locked';
  features: Partial<Features>;
  /** Without the `koboldcpp/` prefix; empty if no model is loaded, or its name is hidden. */
  model: string;
  /** All models of every kind; undefined if the server does not tell. */
  models: ModelsAnswer | undefined;
  context: number;
  performance: Performance;
}

export const server = $state<Server>({
  state: 'connecting',
  features: {},
  model: '',
  models: undefined,
  context: 0,
  performance: { queue: 0, idle: 1 },
});

const busyMs = 600;
const idleMs = 5000;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Fetches the server status now and then periodically, more often while a model loads. */
export async function refreshServer(): Promise<void> {
  clearTimeout(timer);
  try {
    if (server.state === 'locked' && (await isStillLocked())) return plan();
    const [features, model, context, performance, models] = await Promise.all([
      read<Features>('api/extra/version', { background: true }),
      read<{ result: string }>('api/v1/model', { background: true }),
      read<{ value: number }>('api/extra/true_max_context_length', { background: true }),
      read<Performance>('api/extra/perf', { background: true }),
      allModels(),
    ]);
    const name = modelName(model.result);
    const isLocked = models === 'locked';
    if (isLocked && (await signInAsBefore())) return refreshServer();
    takeChanged({
      state: isLocked ? 'locked' : 'ready',
      features,
      models: isLocked ? undefined : models,
      model: isLocked || name === 'inactive' ? '' : name,
      context: context.value,
      performance,
    });
  } catch (thrown) {
    server.state = thrown instanceof Failure && thrown.status === 401 ? 'locked' : 'unreachable';
  }
  plan();
}

/** Nobody is signed in: the other calls would only fail, and browsers write each failure to their console. */
async function isStillLocked(): Promise<boolean> {
  if (currentKey() !== undefined || (await isSignedIn())) return false;
  return (await read<Features>('api/extra/version', { background: true })).protected;
}

function plan(): void {
  clearTimeout(timer);
  const isChanging = server.models?.models.some(({ state }) => state === 'loading' || state === 'unloading');
  const pause = server.performance.loading || isChanging ? busyMs : idleMs;
  if (document.visibilityState === 'visible') timer = setTimeout(refreshServer, pause);
}

/** What is the same keeps its identity, so that effects that read it do not run again with each poll. */
function takeChanged(next: Server): void {
  for (const [name, value] of Object.entries(next)) {
    const known = server[name as keyof Server];
    if (JSON.stringify(known) !== JSON.stringify(value)) Object.assign(server, { [name]: value });
  }
}

/** Other servers, and older ones, do not have this list. */
async function allModels(): Promise<ModelsAnswer | 'locked' | undefined> {
  try {
    const answer = await read<ModelsAnswer>('api/extra/models', { background: true });
    // Also after a restart of the server, which has another token then.
    if (answer.admin.allowed || answer.admin.owner !== 'page' || !(await askForOwnership())) return answer;
    return await read<ModelsAnswer>('api/extra/models', { background: true });
  } catch (thrown) {
    if (!(thrown instanceof Failure)) throw thrown;
    return thrown.status === 401 ? 'locked' : undefined;
  }
}

document.addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'visible') void refreshServer();
});
void refreshServer();
