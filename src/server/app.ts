import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Refused } from '../core/errors.ts';
import type { Endpoint } from '../http/call.ts';
import { createHttpServer, type HttpServer } from '../http/server.ts';
import { routed, type SelectModel } from '../models/routed.ts';
import { watchAll } from '../observe/watch-all.ts';
import { comfySockets } from '../protocols/comfy/routes.ts';
import type { ModelEndpoint } from '../protocols/endpoint.ts';
import { withSocketAccess } from './access.ts';
import { modelEndpoints } from './endpoints.ts';
import { type ModelContext, modelContext } from './model-context.ts';
import type { ModelParts } from './model-parts.ts';
import { type ServerServices, type ServiceParts, serverServices } from './services.ts';

export interface AppParts extends ServiceParts, ModelParts {
  /** Finds the model of a call, where there are several models or one may be swapped; by default the only one. */
  readonly select?: SelectModel<ModelContext>;
  readonly onError: (error: unknown, where: { readonly method: string; readonly path: string }) => void;
  readonly onRefused?: (refused: Refused) => void;
}

export interface App {
  /** The model of the command line. */
  readonly context: ModelContext;
  readonly server: HttpServer;
  readonly endpoints: readonly Endpoint[];
  /** The same endpoints before a model is selected. */
  readonly modelEndpoints: readonly ModelEndpoint<ModelContext>[];
  /** Adds another model to the same queue. */
  readonly contextOf: (parts: ModelParts) => ModelContext;
}

/** Composes services, models, endpoints and the HTTP server. */
export function createApp(parts: AppParts): App {
  const services = serverServices(parts);
  const context = modelContext(parts, services);
  const unrouted = modelEndpoints(services);
  const select = parts.select ?? (async () => ({ context, release: () => undefined }));
  const endpoints = routed(unrouted, select, ({ modelName }) => modelName());
  return {
    context,
    endpoints,
    modelEndpoints: unrouted,
    contextOf: (model) => modelContext(model, services),
    server: httpServer(parts, services, endpoints),
  };
}

function httpServer(
  { settings, onError, onRefused, keys }: AppParts,
  { comfy, exchangeSinks }: ServerServices,
  endpoints: readonly Endpoint[],
): HttpServer {
  return createHttpServer({
    endpoints,
    sockets: withSocketAccess(comfySockets(comfy)),
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
      keys,
    },
    maxRequestMegabytes: settings.maxrequestsize,
    rateLimitSeconds: settings.ratelimit,
    stallTimeoutSeconds: settings.stalltimeout,
    onError,
    onRefused,
    watchExchange: watchAll(exchangeSinks),
  });
}
