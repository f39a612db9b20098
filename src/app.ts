import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { replacePlaceholders } from './chat/placeholders.ts';
import { type ChatService, chatService } from './chat/service.ts';
import type { Settings } from './config/flags.ts';
import { applyDefaults, requestDefaults } from './config/gen-defaults.ts';
import { AppError } from './core/errors.ts';
import type { TextEngine } from './core/text-engine.ts';
import type { TextService } from './core/text-service.ts';
import { schemaToGrammar } from './grammar/convert.ts';
import type { Endpoint } from './http/call.ts';
import { createHttpServer, type HttpServer } from './http/server.ts';
import { systemTimer } from './http/timers.ts';
import type { ControlParts } from './protocols/controls/decode.ts';
import { type DialectParts, randomId } from './protocols/dialect.ts';
import { llamacppEndpoints } from './protocols/llamacpp/routes.ts';
import { modelName } from './protocols/native/model-name.ts';
import { nativeEndpoints } from './protocols/native/routes.ts';
import { openaiEndpoints } from './protocols/openai/routes.ts';
import { pagesEndpoints } from './protocols/pages/routes.ts';
import type { ChatFormat } from './run/chat-format.ts';
import { type BatchingSettings, sharingOf } from './scheduler/batching.ts';
import { Queue } from './scheduler/queue.ts';
import { waitingPlaces } from './scheduler/queue-size.ts';
import { type TextObserver, textService } from './scheduler/text.ts';

export interface AppParts {
  readonly settings: Settings;
  readonly engine: TextEngine;
  readonly format: ChatFormat;
  readonly product: { readonly name: string; readonly version: string };
  readonly observer: TextObserver;
  readonly warn: (text: string) => void;
  readonly onError: (error: unknown, where: { readonly method: string; readonly path: string }) => void;
  readonly shutdown: () => void;
}

export interface App {
  readonly text: TextService;
  readonly chat: ChatService;
  readonly endpoints: readonly Endpoint[];
  readonly server: HttpServer;
}

/** Puts the parts together. Nothing else in the program knows more than its own part and the types between them. */
export function createApp(parts: AppParts): App {
  const { settings, engine } = parts;
  const places = waitingPlaces({
    multiuser: settings.multiuser,
    parallelRequests: settings.parallelrequests,
    otherModels: false,
  });
  const text = textService({
    engine,
    queue: new Queue({ capacity: Math.max(1, settings.parallelrequests), waitingPlaces: () => places }),
    sharing: (traits) => sharingOf(traits, batchingSettings(settings)),
    now: () => performance.now(),
    randomSeed: () => randomInt(1, 1_000_000),
    observer: parts.observer,
  });
  const chat = chatOn(parts, text);
  const endpoints = allEndpoints(parts, text, chat);
  return { text, chat, endpoints, server: httpServer(parts, endpoints) };
}

function batchingSettings(settings: Settings): BatchingSettings {
  return {
    parallelRequests: settings.parallelrequests,
    batchAll: settings.batchall,
    contextShift: !settings.noshift,
    smartContext: settings.smartcontext,
    smartCache: settings.smartcache > 0,
    draft: settings.draftmodel !== '' || settings.usemtp,
    guidance: settings.enableguidance,
  };
}

function chatOn({ settings, format, warn }: AppParts, text: TextService): ChatService {
  return chatService({
    text,
    tags: format.adapter.adapter.tags,
    templateText: format.templateText,
    template: format.template,
    templateTools: format.templateTools,
    serverVariables: settings.jinja_kwargs ?? {},
    now: () => new Date(),
    newCallId: () => randomId('call_'),
    warn,
  });
}

function allEndpoints(
  { settings, format, product, shutdown }: AppParts,
  text: TextService,
  chat: ChatService,
): Endpoint[] {
  const defaults = requestDefaults(settings);
  const adapter = format.adapter.adapter;
  const naming = {
    hordeModelName: settings.hordemodelname,
    altered: settings.debugmode === 1 || Object.keys(defaults).length > 0,
  };
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
    controlParts,
    applyDefaults: (body) => applyDefaults(body, defaults, settings.gendefaultsoverwrite),
    overflow: settings.contextoverflow,
    modelName: name,
    now: () => Date.now(),
    newId: randomId,
    startTimer: systemTimer,
  };
  const endpoints: Endpoint[] = [
    ...nativeEndpoints({
      service: text,
      controlParts,
      applyDefaults: dialect.applyDefaults,
      replacePlaceholders: (texts) => replacePlaceholders(texts, adapter.tags),
      schemaToGrammar,
      startTimer: systemTimer,
      product,
      modelName: name,
      features: () => ({
        protected: Boolean(settings.password),
        guidance: settings.enableguidance,
        jinja: settings.jinja,
      }),
      counters: () => ({ images: 0, speech: 0, transcriptions: 0 }),
      advertised: { maxLength: settings.hordegenlen, maxContext: settings.hordemaxctx },
      quiet: settings.quiet && settings.debugmode !== 1,
      ...preloadStory(settings),
      ...(settings.singleinstance ? { shutdown } : {}),
    }),
    ...llamacppEndpoints({ service: text, modelName: name, modalities: () => ({ vision: false, audio: false }) }),
    ...openaiEndpoints({ service: text, modelName: name, now: () => Math.floor(Date.now() / 1000) }),
    ...pagesEndpoints({ product, endpoints: () => endpoints }),
  ];
  return endpoints;
}

function httpServer({ settings, onError }: AppParts, endpoints: readonly Endpoint[]): HttpServer {
  return createHttpServer({
    endpoints,
    port: settings.port,
    host: settings.host || undefined,
    tls: settings.ssl ? { certificate: readFileSync(settings.ssl[0]), key: readFileSync(settings.ssl[1]) } : undefined,
    guard: {
      password: settings.password || undefined,
      adminPassword: settings.adminpassword || undefined,
      allowedOrigins: settings.allowedorigins ?? [],
      allowedHosts: settings.allowedhosts ?? [],
      machineName: hostname(),
    },
    maxRequestMegabytes: settings.maxrequestsize,
    rateLimitSeconds: settings.ratelimit,
    onError,
  });
}

/** `--preloadstory` names a file or holds the story itself. */
function preloadStory({ preloadstory }: Settings): { preloadStory?: string | Uint8Array } {
  if (!preloadstory) return {};
  if (preloadstory.trimStart().startsWith('{')) return { preloadStory: preloadstory };
  try {
    return { preloadStory: readFileSync(preloadstory) };
  } catch (error) {
    throw new AppError('internal', { reason: `--preloadstory ${preloadstory} cannot be read` }, { cause: error });
  }
}
