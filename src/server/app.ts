import { hostname } from 'node:os';
import { isOwnerOnLoopback } from '../config/lan.ts';
import type { Refused } from '../core/errors.ts';
import { sentencesOf } from '../engines/speech/sentences.ts';
import { CertificateFiles } from '../http/certificate-files.ts';
import { createHttpServer, type HttpServer, type HttpServerOptions } from '../http/server.ts';
import { sessionTokens } from '../http/session-cookie.ts';
import { watchAll } from '../observe/watch-all.ts';
import { comfySockets } from '../protocols/comfy/routes.ts';
import { randomId } from '../protocols/dialect.ts';
import { realtimeSockets } from '../protocols/realtime/routes.ts';
import { batchWork, lastUse } from './batch-work.ts';
import { modelEndpoints } from './endpoints.ts';
import { type ModelContext, modelContext } from './model-context.ts';
import type { ModelSetup } from './model-setup.ts';
import { type ModelResolver, routed } from './routed.ts';
import { type ServerServices, type ServiceDeps, serverServices } from './services.ts';

export interface AppDeps extends ServiceDeps, ModelSetup {
  /** Finds the model of a call, where there are several models or one may be swapped; by default the only one. */
  readonly resolve?: ModelResolver<ModelContext>['resolve'];
  readonly onError: HttpServerOptions['onError'];
  readonly onRefused?: (refused: Refused) => void;
}

export type App = ReturnType<typeof createApp>;

const batchDelayMs = 1000;

/** Composes services, models, endpoints and the HTTP server. */
export function createApp(deps: AppDeps) {
  const services = serverServices(deps);
  const context = modelContext(deps, services);
  const unrouted = modelEndpoints(services);
  const resolve = deps.resolve ?? (async () => ({ context, release: () => undefined }));
  const byName = (deps.models?.byName || deps.models?.presetsByName) ?? false;
  const endpoints = routed(unrouted, { byName, resolve }, ({ modelName }) => modelName()).map((endpoint) =>
    services.activeCalls.followed(endpoint),
  );
  const people = lastUse(() => Date.now());
  const batches = deps.clients?.batches;
  if (batches) {
    const work = batchWork({
      ...deps,
      endpoints,
      observeRequest: watchAll(services.exchangeSinks),
      idleMs: people.idleMs,
      isStopping: () => services.requestQueue.queue.isClosed,
      now: () => Date.now(),
    });
    // The server starts first.
    setTimeout(() => batches.start(work), batchDelayMs).unref();
  }
  const conversations = {
    newId: randomId,
    splitSentences: sentencesOf,
    useModel: (model: string, signal: AbortSignal) =>
      resolve(model.trim() || undefined, { queued: true, modelSelection: 'any-name' }, signal),
  };
  const sockets = [...realtimeSockets(conversations), ...comfySockets(services.comfy)];
  return {
    /** The model of the command line. */
    context,
    endpoints,
    sockets,
    /** The same endpoints before a model is selected. */
    modelEndpoints: unrouted,
    /** Adds another model to the same queue. */
    contextOf: (model: ModelSetup): ModelContext => modelContext(model, services),
    /** For a context that no request will use any more. */
    retire: ({ lane }: ModelContext): void => void services.capacities.delete(lane),
    /** Shared by all models. */
    requestQueue: services.requestQueue,
    server: httpServer(
      deps,
      { ...services, exchangeSinks: [...services.exchangeSinks, people.watch] },
      { endpoints, sockets },
    ),
  };
}

/** Whose cookie this is. What keeps the sessions is loaded for the first one. */
async function sessionOf(tokens: readonly string[], people: NonNullable<AppDeps['people']>) {
  for (const token of tokens) {
    const session = await (await people()).find(token);
    if (session)
      return { id: session.id, isAdmin: session.holder.type === 'admin', ...(session.key && { key: session.key }) };
  }
  return undefined;
}

function httpServer(
  { lan, settings, onError, onRefused, keys, people, usage, warn }: AppDeps,
  { exchangeSinks, streams }: ServerServices,
  { endpoints, sockets }: Required<Pick<HttpServerOptions, 'endpoints' | 'sockets'>>,
): HttpServer {
  const certificate = settings.ssl && new CertificateFiles(settings.ssl[0], settings.ssl[1]);
  const server = createHttpServer({
    endpoints,
    sockets,
    port: settings.port,
    host: settings.host || (settings.lan ? '::' : undefined),
    tls: certificate?.pair ?? lan?.pair,
    plainToo: settings.lan,
    guard: {
      password: settings.password || undefined,
      adminPassword: settings.adminpassword || undefined,
      allowedOrigins: settings.allowedorigins ?? [],
      allowedHosts: [...(settings.allowedhosts ?? []), ...(settings.lan ? ['parley.local'] : [])],
      machineName: hostname(),
      listensOn: settings.host || undefined,
      legacyOpen: settings.legacyopenpaths,
      ownerOnLoopback: isOwnerOnLoopback(settings),
      keys,
      overLimit: usage && ((key) => usage.overLimit(key)),
      sessionOf: people && ((headers) => sessionOf(sessionTokens(headers, settings.port), people)),
    },
    maxRequestMegabytes: settings.maxrequestsize,
    rateLimitSeconds: settings.ratelimit,
    stallTimeoutSeconds: settings.stalltimeout,
    onError,
    onRefused,
    observeRequest: watchAll(exchangeSinks),
    streams,
  });
  certificate?.watch({ use: server.setCertificate, log: warn });
  return server;
}
