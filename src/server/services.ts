import { randomBytes, randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import type { Message } from '../chat/messages.ts';
import type { ChatService } from '../chat/service.ts';
import type { Settings } from '../config/flags.ts';
import type { ImageEditor } from '../core/image-editing.ts';
import type { ModelLibrary, ModelMemory, ModelsView } from '../core/models-view.ts';
import type { Product } from '../core/product.ts';
import type { ObservedRequest, ObserveRequest } from '../core/request-observer.ts';
import type { TextService } from '../core/text-service.ts';
import { systemTimer } from '../core/timers.ts';
import type { ToolServerEditor, ToolServers } from '../core/tool-servers.ts';
import { ResumableStreams } from '../http/resumable-streams.ts';
import { ConversationReport, type TurnEnded } from '../inspector/conversations/report.ts';
import { RequestStore } from '../inspector/store.ts';
import type { Keyring } from '../keys/keyring.ts';
import type { ServerPeople } from '../keys/people.ts';
import type { UsageLog } from '../keys/usage-log.ts';
import type { Lan } from '../lan/lan.ts';
import { imageEditor } from '../models/image-editor.ts';
import { recordExchanges } from '../observe/exchange-record.ts';
import type { ExchangeLog } from '../observe/json-log.ts';
import type { LogTail } from '../observe/log-tail.ts';
import { createMetrics } from '../observe/metrics.ts';
import type { Tracer } from '../observe/trace/tracer.ts';
import type { AdminAccess } from '../protocols/admin/access.ts';
import { ownerAccess } from '../protocols/admin/owner.ts';
import { ComfyQueue } from '../protocols/comfy/queue.ts';
import type { SlotWatch } from '../protocols/llamacpp/status.ts';
import { responseState } from '../protocols/responses/background.ts';
import { LastDrawings } from '../protocols/sdapi/progress.ts';
import { speechSettings } from '../protocols/xtts/routes.ts';
import { RunningImageJobs } from '../queue/image.ts';
import { maxQueuedRequests, Queue } from '../queue/queue.ts';
import { RequestQueue } from '../queue/request-queue.ts';
import type { TaskObserver } from '../queue/tasks.ts';
import type { TextObserver } from '../queue/text.ts';
import { SummaryStore } from '../store/summary-store.ts';
import { ActiveCalls } from './active-calls.ts';
import type { ClientServices } from './client-services.ts';
import type { DocumentServices } from './document-services.ts';
import { recallCache } from './memories.ts';

interface SelectedModel {
  readonly context: {
    readonly lane: string;
    readonly text: TextService;
    readonly summaryChat: () => ChatService;
  };
  release(): void;
}

export interface ServiceDeps {
  /** Of the command line. */
  readonly settings: Settings;
  /** Settings of the default model, which a swap may change. */
  readonly presentSettings?: () => Settings;
  /** Whether a model of another kind than text counts as loaded, for `--multiuser 0`. */
  readonly hasTaskModels?: () => boolean;
  /** The models that can be loaded and swapped, where that is possible. */
  readonly models?: ModelsView;
  readonly memory?: ModelMemory;
  /** Loads the library of the models on this machine, where they are managed. */
  readonly library?: (() => Promise<ModelLibrary>) | undefined;
  /** The servers of `--mcpfile`. */
  readonly tools?: ToolServers | undefined;
  /** With `--admin` only. */
  readonly toolEditor?: ToolServerEditor | undefined;
  readonly product: Product;
  readonly clients?: ClientServices;
  readonly documentTotals?: DocumentServices['totals'] | undefined;
  /** With `--keyfile` only. */
  readonly keys?: Keyring | undefined;
  /** Invitations and sessions, loaded on first use; missing in the modes of the terminal. */
  readonly people?: (() => Promise<ServerPeople>) | undefined;
  /** With `--lan`. */
  readonly lan?: Lan | undefined;
  /** Missing in the modes of the terminal. */
  readonly usage?: UsageLog | undefined;
  readonly observer: TextObserver;
  /** Called when the first reply of a model of this machine was too slow. */
  readonly slowReply?: (model: string, tokensPerSecond: number) => void;
  readonly taskObserver?: TaskObserver;
  /** Called for each turn of a conversation. */
  readonly turnEnded?: TurnEnded | undefined;
  /** With `--logformat json`. */
  readonly exchangeLog?: ExchangeLog | undefined;
  /** With `--trace`. */
  readonly tracer?: Tracer | undefined;
  /** Decodes and encodes pictures; by default a worker process that the first picture starts. */
  readonly editor?: ImageEditor;
  /** Another model for a part of a request; undefined while it is being replaced. Never waits for requests. */
  readonly auxiliaryModel?: ((name: string) => Promise<SelectedModel | undefined>) | undefined;
  /** By default in memory only. */
  readonly summaries?: SummaryStore<Message> | undefined;
  readonly warn: (text: string) => void;
  /** The last lines of the console. */
  readonly log?: LogTail | undefined;
  readonly shutdown: () => void;
}

export type ServerServices = ReturnType<typeof serverServices>;

/** State and services of the whole server. They outlive requests, and every swap of a model. */
export function serverServices(deps: ServiceDeps) {
  const { settings, product, models, usage, warn } = deps;
  const capacities = new Map<string, () => number>();
  const queue = new Queue({
    capacity: (lane) => capacities.get(lane)?.() ?? 1,
    startTimer: systemTimer,
    maxRequests: () => {
      const { multiuser, parallelrequests } = deps.presentSettings?.() ?? settings;
      return maxQueuedRequests({
        multiuser,
        parallelRequests: parallelrequests,
        hasTaskModels: deps.hasTaskModels ?? (() => false),
      });
    },
  });
  const startedAt = Date.now();
  const owner = ownerAccess(settings, () => randomBytes(32).toString('base64url'));
  const { exchangeLog, tracer } = deps;
  const metrics = createMetrics({
    startedAt,
    version: product.version,
    models: models?.list,
    spans: tracer?.counts,
    documents: deps.documentTotals,
    gpus: async () => (await deps.memory?.gpus?.()) ?? [],
  });
  const { inspect, noagentreport } = settings;
  const inspected = new RequestStore({ count: inspect, now: () => Date.now(), tick: () => performance.now() });
  const conversations = noagentreport
    ? undefined
    : new ConversationReport({ now: () => Date.now(), tick: () => performance.now(), ended: deps.turnEnded });
  const exchangeSinks: readonly ObserveRequest[] = [
    recordExchanges({
      now: () => performance.now(),
      time: () => Date.now(),
      content: exchangeLog?.content ?? false,
      traceparent: tracer?.traceparent,
      over: [metrics.exchange, exchangeLog?.write, tracer?.record].filter((over) => over !== undefined),
    }),
    ...[usage, conversations, inspected].flatMap((sink) => (sink ? (head: ObservedRequest) => sink.watch(head) : [])),
  ];
  return {
    ...deps,
    /** How many requests may run at once, by lane. */
    capacities,
    requestQueue: new RequestQueue(queue, () => performance.now(), {
      separateClients: Boolean(settings.password) || deps.keys !== undefined,
    }),
    /** Milliseconds since 1970. */
    startedAt,
    metrics,
    /** What the slots of each text model do. */
    slots: new WeakMap<TextService, SlotWatch>(),
    owner,
    admin: { ...adminAccess(settings, warn), ...(owner.type === 'page' && { ownerToken: owner.token }) },
    editor: deps.editor ?? imageEditor,
    responses: responseState(),
    comfy: new ComfyQueue({ now: () => Date.now(), newId: randomUUID, startTimer: systemTimer }),
    imageJobs: new RunningImageJobs(() => performance.now()),
    lastDrawings: new LastDrawings(),
    streams: new ResumableStreams({ startTimer: systemTimer }),
    /** Logs, metrics and others that follow requests. */
    exchangeSinks,
    /** The last requests, for the inspector. */
    inspected,
    /** Undefined with `--noagentreport`. */
    conversations,
    /** Compacted beginnings of conversations (`--contextoverflow compact`). */
    summaries: deps.summaries ?? new SummaryStore<Message>({ now: () => Date.now() }),
    /** What was remembered for each message of a conversation (`--memory`). */
    recalls: recallCache(),
    speechSettings: speechSettings(),
    /** The requests of each key that are being answered. */
    activeCalls: new ActiveCalls((key) => deps.keys?.isValid(key) ?? true),
  };
}

/** Without `--admindir` the folder is the working directory, which always exists. */
function adminAccess({ admin, admindir, adminpassword }: Settings, warn: ServiceDeps['warn']): AdminAccess {
  const exists = admindir === '' || (statSync(admindir, { throwIfNoEntry: false })?.isDirectory() ?? false);
  if (admin && !exists) warn(`--admindir ${admindir} is no folder: the admin paths stay closed.`);
  return { enabled: admin && exists, password: adminpassword || undefined };
}
