import { randomInt } from 'node:crypto';
import { tagsWithoutThinking } from '../chat/adapters/adapter.ts';
import { memoryTools } from '../chat/memory/tools.ts';
import { withOpening } from '../chat/opening.ts';
import { type InstructText, replacePlaceholders } from '../chat/placeholders.ts';
import type { ServerTools } from '../chat/server-tools/offer.ts';
import { type ChatService, chatService } from '../chat/service.ts';
import { withSharedPrefixes } from '../chat/shared-prefix.ts';
import type { SummaryModel } from '../chat/summary-model.ts';
import type { Settings } from '../config/flags.ts';
import { applyDefaults, requestDefaults, textDefaults } from '../config/gen-defaults.ts';
import { AppError } from '../core/errors.ts';
import { LoraScales, loraFiles } from '../core/lora.ts';
import type { Sender } from '../core/owner.ts';
import type { TextService } from '../core/text-service.ts';
import { systemTimer } from '../core/timers.ts';
import { joinedToolServers, onlyTools, type ToolServers } from '../core/tool-servers.ts';
import { documentTools } from '../documents/tool-server.ts';
import { schemaToGrammar } from '../grammar/convert.ts';
import { createTaskServices, type EngineServices, taskCapacities } from '../models/engine-kinds.ts';
import { modelName, namingOf } from '../models/model-name.ts';
import type { PreparedModel } from '../models/prepared-model.ts';
import { batchingSettings } from '../models/text-engine.ts';
import { printable } from '../observe/printable.ts';
import type { ControlLimits } from '../protocols/controls/decode.ts';
import { type CompletionContext, type DialectModel, randomId } from '../protocols/dialect.ts';
import { SlotWatch } from '../protocols/llamacpp/status.ts';
import type { NativeContext } from '../protocols/native/routes.ts';
import { sharingOf } from '../queue/batching.ts';
import { eachTask, together } from '../queue/observers.ts';
import { textService } from '../queue/text.ts';
import { recallWith } from './memories.ts';
import type { ModelSetup } from './model-setup.ts';
import { preloadedStory } from './preloaded-story.ts';
import type { ServerServices } from './services.ts';
import { firstReplySpeed } from './slow-model.ts';

/** What a handler gets with each call: the services, settings and defaults of the model that the call concerns. */
export interface ModelContext
  extends DialectModel,
    Pick<CompletionContext, 'replacePlaceholders'>,
    Pick<NativeContext, 'preloadStory'> {
  readonly settings: Settings;
  /** In the registry. */
  readonly name: string;
  readonly taskServices: EngineServices;
  /** Of its text model in the queue. */
  readonly lane: string;
  /** Writes summaries for chats of other models. */
  readonly summaryChat: () => ChatService;
  /** The context of a preset of this model, with the same engine and the same lane. */
  readonly preset: (model: Pick<PreparedModel, 'name' | 'settings' | 'format' | 'opening'>) => ModelContext;
}

/** Outside of `modelContext`, so that the queue does not hold the whole context. */
const fixedCapacity = (parallelRequests: number) => () => Math.max(1, parallelRequests);

/** Registers the model with the queue and the metrics, and builds its context. */
export function modelContext(setup: ModelSetup, services: ServerServices): ModelContext {
  const { name = '', settings, source, remote } = setup;
  const { requestQueue, capacities, imageJobs } = services;
  // A model that is swapped in may have the name of the one that is swapped out, and must not share its lane.
  const lane = randomId(`${name}\u0000`);
  const capacity = remote?.capacity ?? fixedCapacity(settings.parallelrequests);
  for (const [own, concurrency] of [[lane, capacity] as const, ...taskCapacities(setup.taskSources ?? {})])
    capacities.set(own, concurrency);
  const slots = new SlotWatch(capacity());
  const { slowReply } = services;
  const speed = slowReply && !remote ? [firstReplySpeed((perSecond) => slowReply(name, perSecond))] : [];
  const textOptions: Omit<Parameters<typeof textService>[0], 'source'> = {
    requestQueue,
    lane,
    sharing: (traits) => (remote ? { type: 'shared' } : sharingOf(traits, batchingSettings(settings))),
    randomSeed: () => randomInt(1, 1_000_000),
    adapters: new LoraScales(loraFiles(settings)),
    observer: together([services.observer, services.metrics.watch(name, () => text), slots, ...speed]),
  };
  const text: TextService = textService({ ...textOptions, source });
  services.slots.set(text, slots);
  const observer = eachTask([services.metrics.tasks, services.taskObserver ?? {}]);
  const taskServices = createTaskServices(setup.taskSources ?? {}, { requestQueue, observer, imageJobs });
  const { summarySource = source } = setup;
  const summaryText = () => textService({ ...textOptions, source: summarySource });
  return chatContext(setup, services, { text, taskServices, lane }, { summaryText });
}

/** What the settings of a model, or of a preset of it, make of its engines. */
function chatContext(
  setup: ModelSetup & Pick<PreparedModel, 'opening'>,
  services: ServerServices,
  engines: Pick<ModelContext, 'text' | 'taskServices' | 'lane'>,
  { summaryText, presetName }: { readonly summaryText: () => TextService; readonly presetName?: string },
): ModelContext {
  const { name = '', settings, format, opening } = setup;
  const { text } = engines;
  const exact = modelChat(setup, services, { ...engines, character: presetName });
  const shared = settings.exactprompts ? exact : withSharedPrefixes(exact);
  const chat = { ...(opening ? withOpening(shared, opening) : shared), templateText: format.templateText };
  const image = requestDefaults(settings);
  const defaults = { image, text: textDefaults(image) };
  const adapter = format.adapter.adapter;
  const naming = namingOf(settings);
  const controlLimits = (): ControlLimits => ({
    // Half of the actual context: a small model may have less than --contextsize.
    defaultMaxTokens: Math.min(settings.defaultgenamt, Math.floor(text.contextSize() / 2)),
    maxTokensLimit: settings.genlimit,
    contextSize: text.contextSize(),
    overflow: settings.contextoverflow,
    guidance: settings.enableguidance,
    remembers: settings.memory && services.clients?.memories !== undefined,
    searchesWeb: services.clients?.search !== undefined,
    isClientServer: (url) => services.tools?.at?.(url) === undefined && services.clients?.mcp?.(url) !== undefined,
    adapter: adapter.defaults,
    schemaToGrammar,
  });
  return {
    ...engines,
    chat,
    controlLimits,
    applyDefaults: (body, of = 'text') => applyDefaults(body, defaults[of], settings.gendefaultsoverwrite),
    modelName: () => modelName(text.state(), naming, presetName),
    name,
    preset: (own) =>
      chatContext({ ...setup, settings: own.settings, format: own.format, opening: own.opening }, services, engines, {
        summaryText,
        presetName: own.name,
      }),
    replacePlaceholders: (texts: InstructText) => replacePlaceholders(texts, adapter.tags),
    preloadStory: preloadedStory(settings.preloadstory),
    settings,
    summaryChat: () =>
      modelChat({ ...setup, settings: { ...settings, memory: false } }, services, { ...engines, text: summaryText() }),
  };
}

/** Rounds of calls for tools that a request asks for. */
const defaultTurns = 8;

interface ChatEngines extends Pick<ModelContext, 'text' | 'taskServices' | 'lane'> {
  /** The preset: it has memories of its own besides those of all chats of the user. */
  readonly character?: string | undefined;
}

/** The chats of one model. */
function modelChat(
  { name = '', settings, format, remote }: ModelSetup,
  services: Pick<ServerServices, 'tools' | 'clients' | 'warn' | 'summaries' | 'recalls' | 'auxiliaryModel'>,
  { text, lane, taskServices, character }: ChatEngines,
): ChatService {
  const { tools, clients, warn, summaries } = services;
  const { tags } = format.adapter.adapter;
  const { mcpserverloop } = settings;
  const mcptools = settings.mcptools ?? [];
  const offersTools = mcpserverloop > 0 || mcptools.length > 0;
  const reported = new Set<string>();
  const memories = settings.memory ? clients?.memories : undefined;
  const { embedding } = taskServices;
  const recall = memories && recallWith({ memories, cache: services.recalls, character, embedding, warn });
  const serverTools: ServerTools = {
    servers: offersTools ? chosen(tools) : undefined,
    serversOf: offersTools ? (reader) => chosen(serversOf(reader)) : undefined,
    // Where calls have no known form, each chat would need a second generation to decide about them.
    memory:
      memories &&
      ((sender, { hosted }) =>
        hosted?.memory || format.templateUse.listedTools
          ? memoryTools({ library: memories.of(sender), character, asFiles: hosted?.memory ?? false })
          : undefined),
    serverAt: (url, headers) => tools?.at?.(url) ?? clients?.mcp?.(url, headers),
    web: clients?.search,
    turns: mcpserverloop || defaultTurns,
    now: () => new Date(),
    startTimer: systemTimer,
    onToolRun: ran,
  };
  const compactions = summaries.of(name);
  const summaryModel = summaryModelOf(settings, services, lane);
  if (remote) return remote.chat(text, { serverTools, compactions, summaryModel, recall });
  return chatService({
    text,
    tags,
    tagsWithoutThinking: tagsWithoutThinking(tags, { name: format.adapter.name, template: format.templateText }),
    templateText: format.templateText,
    template: format.template,
    templateUse: format.templateUse,
    systemPrompt: settings.systemprompt,
    serverVariables: settings.jinja_kwargs ?? {},
    // A template that shows the time has a new prompt every hour, not every minute.
    now: () => new Date(settings.exactprompts ? Date.now() : new Date().setMinutes(0, 0, 0)),
    newCallId: () => randomId('call_'),
    warn,
    serverTools,
    compactions,
    summaryModel,
    recall,
  });

  /** The tools of `--mcptools`. */
  function chosen(servers: ToolServers | undefined): ToolServers | undefined {
    return servers && mcptools.length > 0 ? onlyTools(servers, mcptools, report) : servers;
  }

  /** Each name once. */
  function report(missing: readonly string[]): void {
    const names = missing.filter((one) => !reported.has(one));
    for (const one of names) reported.add(one);
    if (names.length > 0) warn(`--mcptools: no server has a tool ${names.map((one) => printable(one)).join(', ')}.`);
  }

  function serversOf(reader: Sender): ToolServers | undefined {
    const library = clients?.documents?.of(reader);
    return library ? joinedToolServers(tools, documentTools({ library, onlySearch: true })) : tools;
  }

  function ran(name: string, failed: boolean): void {
    warn(`The tool ${printable(name)} ${failed ? 'failed' : 'ran'} for a chat.`);
  }
}

/** The model of `--compactmodel`, for the chats of the model in this lane. */
function summaryModelOf(
  { compactmodel: name, reqtimeout }: Settings,
  { auxiliaryModel }: Pick<ServerServices, 'auxiliaryModel'>,
  lane: string,
): SummaryModel | undefined {
  if (name === '' || !auxiliaryModel) return undefined;
  const select: SummaryModel['select'] = async () => {
    const selected = await auxiliaryModel(name);
    if (!selected) throw new AppError('model-load-failed', { model: name, reason: 'it is being replaced' });
    const { context, release } = selected;
    if (context.lane !== lane) return { chat: context.summaryChat(), contextSize: context.text.contextSize(), release };
    release();
    return undefined;
  };
  return { name, select, timeoutSeconds: reqtimeout, startTimer: systemTimer };
}
