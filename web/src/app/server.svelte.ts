import { read } from '../api/call.ts';
import { Failure } from '../api/failure.ts';

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
  readonly jinja: boolean;
  readonly parley: About;
}

export interface Performance {
  readonly queue: number;
  readonly idle: number;
  readonly last_eval_speed?: number;
  readonly last_process_speed?: number;
  readonly last_token_count?: number;
  readonly loading?: { readonly name: string; readonly progress: number } | null;
  readonly failed?: { readonly name: string; readonly reason: string } | null;
}

interface Server {
  /** `locked`: the server needs a key. */
  state: 'connecting' | 'ready' | 'unreachable' | 'locked';
  features: Partial<Features>;
  /** Without the `koboldcpp/` prefix; empty if no model is loaded. */
  model: string;
  context: number;
  performance: Performance;
}

export const server = $state<Server>({
  state: 'connecting',
  features: {},
  model: '',
  context: 0,
  performance: { queue: 0, idle: 1 },
});

const often = 600;
const seldom = 5000;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Fetches the server status now and then periodically, more often while a model loads. */
export async function refreshServer(): Promise<void> {
  clearTimeout(timer);
  try {
    const [features, model, context, performance] = await Promise.all([
      read<Features>('api/extra/version', { background: true }),
      read<{ result: string }>('api/v1/model', { background: true }),
      read<{ value: number }>('api/extra/true_max_context_length', { background: true }),
      read<Performance>('api/extra/perf', { background: true }),
    ]);
    const name = model.result.replace(/^koboldcpp\//, '');
    Object.assign(server, {
      state: 'ready',
      features,
      model: name === 'inactive' ? '' : name,
      context: context.value,
      performance,
    } satisfies Server);
  } catch (thrown) {
    server.state = thrown instanceof Failure && thrown.status === 401 ? 'locked' : 'unreachable';
  }
  clearTimeout(timer);
  const pause = server.performance.loading ? often : seldom;
  if (document.visibilityState === 'visible') timer = setTimeout(refreshServer, pause);
}

document.addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'visible') void refreshServer();
});
void refreshServer();
