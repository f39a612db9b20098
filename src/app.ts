import { randomInt, randomUUID } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { homedir, hostname } from 'node:os';
import { aboutEndpoints } from './about.ts';
import { withAccess, withSocketAccess } from './access.ts';
import { type InstructText, replacePlaceholders } from './chat/placeholders.ts';
import type { ChatService } from './chat/service.ts';
import { modelAliases } from './config/aliases.ts';
import type { Settings } from './config/flags.ts';
import { applyDefaults, requestDefaults, textDefaults } from './config/gen-defaults.ts';
import { emptyCacheReport } from './core/cache-report.ts';
import { aliasTarget } from './core/model-names.ts';
import type { ModelsView } from './core/models-view.ts';
import type { OtherServices } from './core/other-services.ts';
import type { PictureEditor } from './core/pictures.ts';
import type { Refused } from './core/refused.ts';
import type { TextService } from './core/text-service.ts';
import type { TextSource } from './core/text-source.ts';
import type { ToolServers } from './core/tool-servers.ts';
import { readGguf } from './gguf/read.ts';
import { schemaToGrammar } from './grammar/convert.ts';
import type { JsonObject } from './http/body.ts';
import { bindAll, type Endpoint } from './http/call.ts';
import { createHttpServer, type HttpServer } from './http/server.ts';
import { systemTimer } from './http/timers.ts';
import type { SocketEndpoint } from './http/web-socket.ts';
import { ownFolder } from './library/places.ts';
import { createMetrics, type Metrics } from './observe/metrics.ts';
import { type AdminAccess, adminLevel } from './protocols/admin/access.ts';
import { adminEndpoints } from './protocols/admin/routes.ts';
import { ComfyDesk } from './protocols/comfy/desk.ts';
import { comfyEndpoints, comfySockets } from './protocols/comfy/routes.ts';
import type { ControlParts } from './protocols/controls/decode.ts';
import { type DialectParts, randomId } from './protocols/dialect.ts';
import { llamacppEndpoints } from './protocols/llamacpp/routes.ts';
import { answeringBoth } from './protocols/llamacpp/shared-path.ts';
import { SlotWatch } from './protocols/llamacpp/slot-watch.ts';
import { mcpEndpoints } from './protocols/mcp/routes.ts';
import { messagesEndpoints } from './protocols/messages/routes.ts';
import { modelName, namingOf } from './protocols/native/model-name.ts';
import { nativeEndpoints } from './protocols/native/routes.ts';
import { ollamaEndpoints } from './protocols/ollama/routes.ts';
import { decodeChat } from './protocols/openai/chat/decode.ts';
import { imagesEndpoints } from './protocols/openai/images/endpoints.ts';
import { openaiEndpoints } from './protocols/openai/routes.ts';
import type { PictureParts } from './protocols/pictures/request.ts';
import { type ResponseState, responseState } from './protocols/responses/background.ts';
import { responsesEndpoints } from './protocols/responses/routes.ts';
import { LastDrawings } from './protocols/sdapi/drawings.ts';
import { sdapiEndpoints } from './protocols/sdapi/routes.ts';
import { xttsEndpoints } from './protocols/xtts/routes.ts';
import { batchingSettings } from './run/batching-settings.ts';
import type { ChatFormat } from './run/chat-format.ts';
import type { ClientServices } from './run/client-services.ts';
import { pictureEditor } from './run/picture-editor.ts';
import { preloadedStory } from './run/preloaded-story.ts';
import type { Elsewhere } from './run/prepared-model.ts';
import { roomChat } from './run/room-chat.ts';
import { dispatched, type Room, type RoomChooser } from './run/rooms.ts';
import { sharingOf } from './scheduler/batching.ts';
import { Desk } from './scheduler/desk.ts';
import { RunningDrawings } from './scheduler/image.ts';
import { eachTask, together } from './scheduler/observers.ts';
import { otherServices, ownCapacities, type Sources } from './scheduler/other-services.ts';
import { Queue } from './scheduler/queue.ts';
import { queuePlaces } from './scheduler/queue-size.ts';
import { type TaskObserver, usualCapacity } from './scheduler/tasks.ts';
import { type TextObserver, textService } from './scheduler/text.ts';

/** What depends on the model that is served: everything else is shared by all of them. */
export interface RoomParts {
  /** By which it is asked for; empty for the only one. */
  readonly name?: string;
  readonly settings: Settings;
  readonly source: TextSource;
  /** How long the model stays in memory after its last use, where the source can let go of it. */
  readonly resting?: Resting;
  readonly format: ChatFormat;
  /** Where other machines serve the model: how much may run at once, and who answers chats. */
  readonly elsewhere?: Pick<Elsewhere, 'capacity' | 'chat'>;
  /** For what the server can do beside text. */
  readonly others?: Sources;
}

export interface AppParts extends RoomParts {
  /** Who answers a call, where there are several models or one may be swapped; the first room unless told otherwise. */
  readonly choose?: RoomChooser;
  /** Whether a model of another kind than text counts as loaded, for `--multiuser 0`. */
  readonly hasOthers?: () => boolean;
  /** What can be loaded and swapped, where that is possible. */
  readonly models?: ModelsView;
  /** The servers of `--mcpfile`: they outlive every swap of a model. */
  readonly tools?: ToolServers | undefined;
  /** Those of the model that answers whoever names none, where it may be another than the first. */
  readonly presentSettings?: () => Settings;
  readonly product: { readonly name: string; readonly version: string };
  readonly clients?: ClientServices;
  readonly observer: TextObserver;
  readonly taskObserver?: TaskObserver;
  /** Decodes and encodes pictures; a process that the first picture starts unless told otherwise. */
  readonly editor?: PictureEditor;
  readonly warn: (text: string) => void;
  readonly onError: (error: unknown, where: { readonly method: string; readonly path: string }) => void;
  readonly onRefused?: (refused: Refused) => void;
  readonly shutdown: () => void;
}

export interface Resting {
  restAfter(milliseconds: number): void;
  /** Milliseconds since 1970. */
  expiresAt(): number;
  loaded(): boolean;
}

export interface App extends Room {
  readonly server: HttpServer;
  /** Those of the first room alone, where calls may be answered by others too. */
  readonly ownEndpoints: readonly Endpoint[];
  /** Another model's room at the same desk. */
  readonly open: (parts: RoomParts) => Room;
}

/** Puts the parts together. Nothing else in the program knows more than its own part and the types between them. */
export function createApp(parts: AppParts): App {
  const places = () => {
    const { multiuser, parallelrequests } = parts.presentSettings?.() ?? parts.settings;
    const otherModels = parts.hasOthers?.() ?? false;
    return queuePlaces({ multiuser, parallelRequests: parallelrequests, otherModels });
  };
  const capacities = new Map<string, () => number>();
  const queue = new Queue({ capacity: (lane) => capacities.get(lane)?.() ?? usualCapacity(lane), places });
  const shared: Shared = {
    ...parts,
    desk: new Desk(queue, () => performance.now()),
    watch: watchers(parts),
    responses: responseState(),
    comfy: new ComfyDesk({ now: () => Date.now(), newId: randomUUID, startTimer: systemTimer }),
    drawings: new RunningDrawings(() => performance.now()),
    lastDrawings: new LastDrawings(),
    capacities,
  };
  const first = openRoom(parts, shared);
  const endpoints = parts.choose ? dispatched(first, parts.choose) : first.endpoints;
  return {
    ...first,
    endpoints,
    ownEndpoints: first.endpoints,
    server: httpServer(parts, endpoints, comfySockets(shared.comfy)),
    open: (room) => openRoom(room, shared),
  };
}

/** What all rooms share. */
interface Shared extends Omit<AppParts, keyof RoomParts> {
  readonly desk: Desk;
  readonly watch: Watchers;
  /** Responses outlive the request, and the model that made them. */
  readonly responses: ResponseState;
  /** Prompts outlive the room that took them in. */
  readonly comfy: ComfyDesk;
  /** Clients look at drawings and stop them without naming the model. */
  readonly drawings: RunningDrawings;
  readonly lastDrawings: LastDrawings;
  readonly capacities: Map<string, () => number>;
}

function openRoom(room: RoomParts, shared: Shared): Room {
  const { name = '', settings, source, elsewhere } = room;
  const { desk, watch, observer, capacities } = shared;
  // One that comes and one that goes may have the same name, and must not wait for each other.
  const lane = `${name}\u0000${capacities.size}`;
  const capacity = elsewhere?.capacity ?? (() => Math.max(1, settings.parallelrequests));
  for (const [own, atOnce] of [[lane, capacity] as const, ...ownCapacities(room.others ?? {})])
    capacities.set(own, atOnce);
  const slots = new SlotWatch(capacity());
  const text: TextService = textService({
    source,
    desk,
    lane,
    sharing: (traits) => (elsewhere ? { type: 'shared' } : sharingOf(traits, batchingSettings(settings))),
    randomSeed: () => randomInt(1, 1_000_000),
    observer: together([observer, watch.metrics.watch(name, () => text), slots]),
  });
  const chat = roomChat(room, shared, text);
  const tasks = eachTask([watch.metrics.tasks, shared.taskObserver ?? {}]);
  const others = otherServices(desk, room.others ?? {}, tasks, shared.drawings);
  return { name, text, chat, endpoints: allEndpoints(room, shared, { text, chat, others, slots }) };
}

interface Watchers {
  readonly metrics: Metrics;
  readonly startedAt: number;
}

function watchers({ product, models }: AppParts): Watchers {
  const startedAt = Date.now();
  return { metrics: createMetrics({ startedAt, version: product.version, models: models?.list }), startedAt };
}

async function describeModelFile(path: string, { longArrays }: { readonly longArrays: boolean }) {
  const header = await readGguf(path, longArrays ? { arrayEntries: Number.POSITIVE_INFINITY } : {});
  return { header, modifiedAt: (await stat(path)).mtimeMs };
}

interface Services {
  readonly text: TextService;
  readonly chat: ChatService;
  readonly others: OtherServices;
  readonly slots: SlotWatch;
}

function allEndpoints(
  { settings, source, format, resting }: RoomParts,
  shared: Shared,
  { text, chat, others, slots }: Services,
): Endpoint[] {
  const { product, shutdown, warn, watch, responses, models, desk, comfy, clients = {}, tools } = shared;
  const defaults = requestDefaults(settings);
  const ownDefaults = textDefaults(defaults);
  const adapter = format.adapter.adapter;
  const naming = namingOf(settings);
  const name = () => modelName(text.state(), naming);
  const controlParts = (): ControlParts => ({
    // Half the context that there really is: a small model may have less than was asked for.
    defaultMaxTokens: Math.min(settings.defaultgenamt, Math.floor(text.contextSize() / 2)),
    maxTokensLimit: settings.genlimit,
    contextSize: text.contextSize(),
    guidance: settings.enableguidance,
    adapter: adapter.defaults,
    schemaToGrammar,
  });
  const dialect: DialectParts = {
    text,
    chat,
    others,
    controlParts,
    applyDefaults: (body) => applyDefaults(body, ownDefaults, settings.gendefaultsoverwrite),
    overflow: settings.contextoverflow,
    modelName: name,
    models,
    alias: (asked) => aliasTarget(modelAliases(settings.modelalias), asked),
    now: () => Date.now(),
    startedAt: watch.startedAt,
    newId: randomId,
    startTimer: systemTimer,
  };
  const pictures: PictureParts = {
    ...dialect,
    product,
    sizes: { longestSide: settings.sdclamped, areaSide: settings.sdclampedsoft },
    imageDefaults: (body) => applyDefaults(body, defaults, settings.gendefaultsoverwrite),
    randomSeed: () => randomInt(100_000, 1_000_000),
    editor: shared.editor ?? pictureEditor,
    drawings: shared.drawings,
  };
  const readChat = async (body: JsonObject) => (await decodeChat(body, dialect)).request;
  const instruct = (texts: InstructText) => replacePlaceholders(texts, adapter.tags);
  const admin = adminAccess(settings, warn);
  const context = {
    ...dialect,
    product,
    replacePlaceholders: instruct,
    renderChat: async (messages: readonly unknown[]) => {
      const { request } = await decodeChat({ messages }, dialect);
      const { memory, prompt } = await chat.render(request);
      return memory + prompt;
    },
    schemaToGrammar,
    features: () => ({
      protected: Boolean(settings.password),
      guidance: settings.enableguidance,
      jinja: settings.jinja,
      admin: adminLevel(admin),
      router: models?.byName ?? false,
      mcp: tools !== undefined,
      transcribe: Boolean(others.transcription),
      txt2img: Boolean(others.image),
      tts: Boolean(others.speech),
      embeddings: Boolean(others.embedding),
      savedata: Boolean(clients.slots),
      multiplayer: Boolean(clients.story),
      websearch: Boolean(clients.search),
    }),
    counters: () => ({
      images: desk.count('image').done,
      speech: desk.count('speech').done,
      transcriptions: desk.count('transcription').done,
    }),
    advertised: { maxLength: settings.hordegenlen, maxContext: settings.hordemaxctx },
    quiet: settings.quiet && settings.debugmode !== 1,
    preloadStory: preloadedStory(settings.preloadstory),
    cacheReport: async () => (await source.peek()?.cacheReport?.()) ?? emptyCacheReport,
    chatTemplate: format.templateText,
    ...(resting ? { keepAlive: resting.restAfter, expiresAt: resting.expiresAt, loaded: resting.loaded } : {}),
    slots,
    metrics: { exposition: () => watch.metrics.exposition(text) },
    loras: (settings.lora ?? []).map((path) => ({ path, scale: settings.loramult })),
    readChat,
    router: models?.byName ?? false,
  };
  const endpoints: Endpoint[] = classified([
    ...bindAll(nativeEndpoints({ ...clients, warn, ...(settings.singleinstance ? { shutdown } : {}) }), context),
    ...bindAll(openaiEndpoints, context),
    ...xttsEndpoints({ ...dialect, outputFolder: ownFolder(surroundings, 'output'), sampleFolder: settings.ttsdir }),
    ...responsesEndpoints({ ...dialect, ...responses }),
    ...bindAll(messagesEndpoints(dialect), dialect),
    ...bindAll(ollamaEndpoints({ modelFile: describeModelFile, now: dialect.now }), context),
    ...bindAll(llamacppEndpoints, context),
    ...imagesEndpoints(pictures),
    ...comfyEndpoints({ ...pictures, desk: comfy }),
    ...sdapiEndpoints({ ...pictures, text, chat, readChat, last: shared.lastDrawings }),
    ...adminEndpoints({ access: admin, states: () => source.peek()?.states, text, swap: models?.swap }),
    ...bindAll(mcpEndpoints({ tools, product }), context),
    ...aboutEndpoints({ ...dialect, product, replacePlaceholders: instruct, endpoints: () => endpoints }),
  ]);
  return endpoints;
}

/** Every endpoint with the access that the table gives it; two dialects share some paths. */
function classified(endpoints: readonly Endpoint[]): Endpoint[] {
  return withAccess(withSharedPath(endpoints));
}

/** Without `/v1` these are paths of two dialects. */
const sharedPaths: Readonly<Record<string, string>> = { '/completions': '/completion', '/embeddings': '/embedding' };

function withSharedPath(endpoints: readonly Endpoint[]): Endpoint[] {
  return endpoints.map((endpoint) => {
    const ours = endpoints.find(({ path }) => path === sharedPaths[endpoint.path]);
    return ours ? answeringBoth(endpoint, ours) : endpoint;
  });
}

/** Without a folder of its own it is that of the program, which is always there. */
function adminAccess({ admin, admindir, adminpassword }: Settings, warn: AppParts['warn']): AdminAccess {
  const exists = admindir === '' || (statSync(admindir, { throwIfNoEntry: false })?.isDirectory() ?? false);
  if (admin && !exists) warn(`--admindir ${admindir} is no folder: the admin paths stay closed.`);
  return { enabled: admin && exists, password: adminpassword || undefined };
}

const surroundings = { home: homedir(), platform: process.platform, environment: process.env };

function httpServer(
  { settings, onError, onRefused }: AppParts,
  endpoints: readonly Endpoint[],
  sockets: readonly SocketEndpoint[],
): HttpServer {
  return createHttpServer({
    endpoints,
    sockets: withSocketAccess(sockets),
    port: settings.port,
    host: settings.host || undefined,
    tls: settings.ssl ? { certificate: readFileSync(settings.ssl[0]), key: readFileSync(settings.ssl[1]) } : undefined,
    guard: {
      password: settings.password || undefined,
      adminPassword: settings.adminpassword || undefined,
      allowedOrigins: settings.allowedorigins ?? [],
      allowedHosts: settings.allowedhosts ?? [],
      machineName: hostname(),
      legacyOpen: settings.legacyopenpaths,
    },
    maxRequestMegabytes: settings.maxrequestsize,
    rateLimitSeconds: settings.ratelimit,
    stallTimeoutSeconds: settings.stalltimeout,
    onError,
    onRefused,
  });
}
