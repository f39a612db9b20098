import { randomInt } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { ownFolder } from '../core/data-folder.ts';
import { availableBytes } from '../core/memory.ts';
import type { PackInstalls } from '../core/pack-installs.ts';
import type { TextService } from '../core/text-service.ts';
import { systemTimer } from '../core/timers.ts';
import { joinedToolServers, type ToolServers } from '../core/tool-servers.ts';
import { documentTools } from '../documents/tool-server.ts';
import { readGguf } from '../gguf/gguf.ts';
import type { Call } from '../http/call.ts';
import {
  featureNames,
  installedEngineVersions,
  kindLabels,
  taskCounters,
  taskFeatures,
} from '../models/engine-kinds.ts';
import { modelAlias } from '../models/residence.ts';
import { type AdminAccess, adminLevel, allowed, mayAdminister } from '../protocols/admin/access.ts';
import { lanEndpoints } from '../protocols/admin/lan.ts';
import { deletionEndpoint, downloadEndpoints } from '../protocols/admin/library.ts';
import { logEndpoints } from '../protocols/admin/log.ts';
import { mcpAdminEndpoints } from '../protocols/admin/mcp.ts';
import { modelStatusEndpoints } from '../protocols/admin/models.ts';
import { packEndpoints } from '../protocols/admin/packs.ts';
import { peopleEndpoints } from '../protocols/admin/people.ts';
import { personDataEndpoints } from '../protocols/admin/person-data.ts';
import { presetEndpoints } from '../protocols/admin/presets.ts';
import { adminEndpoints } from '../protocols/admin/routes.ts';
import { comfyEndpoints } from '../protocols/comfy/routes.ts';
import { type DialectServices, type ReadChat, randomId } from '../protocols/dialect.ts';
import { mayUseDocuments } from '../protocols/documents/library.ts';
import { documented, type ModelEndpoint } from '../protocols/endpoint.ts';
import { fidelityDialect, fidelityEndpoint } from '../protocols/fidelity/fidelity.ts';
import { answeringBoth, llamacppEndpoints } from '../protocols/llamacpp/routes.ts';
import { SlotWatch } from '../protocols/llamacpp/status.ts';
import { mcpEndpoints } from '../protocols/mcp/routes.ts';
import { messageBatchEndpoints } from '../protocols/messages/batches.ts';
import { messagesFileEndpoints } from '../protocols/messages/files.ts';
import { messagesEndpoints } from '../protocols/messages/routes.ts';
import { nativeEndpoints } from '../protocols/native/routes.ts';
import { answeringProbes, ollamaEndpoints } from '../protocols/ollama/routes.ts';
import { batchEndpoints } from '../protocols/openai/batches.ts';
import { decodeChat } from '../protocols/openai/chat/decode.ts';
import { fileEndpoints } from '../protocols/openai/files.ts';
import { imagesEndpoints } from '../protocols/openai/images/endpoints.ts';
import { openaiEndpoints } from '../protocols/openai/routes.ts';
import { vectorStoreEndpoints } from '../protocols/openai/vector-stores/routes.ts';
import { openapiEndpoint, openapiReplies } from '../protocols/openapi/routes.ts';
import { noscriptEndpoints } from '../protocols/pages/noscript.ts';
import { type PagesOptions, pagesEndpoints } from '../protocols/pages/routes.ts';
import { realtimeEndpoints } from '../protocols/realtime/routes.ts';
import { responsesEndpoints } from '../protocols/responses/routes.ts';
import { sdapiEndpoints } from '../protocols/sdapi/routes.ts';
import { xttsEndpoints } from '../protocols/xtts/routes.ts';
import { fileServices } from './file-services.ts';
import { logRedactor, requestEndpoints } from './inspector.ts';
import type { ModelContext } from './model-context.ts';
import { modelFileFacts } from './model-file-facts.ts';
import type { ServerServices } from './services.ts';

/** Every endpoint of the server, built once. A handler gets the context of the model that its call concerns. */
export function modelEndpoints(services: ServerServices): readonly ModelEndpoint<ModelContext>[] {
  const { settings, product, shutdown, warn, models, clients, tools, admin, keys, usage, memory, library } = services;
  const { editor, imageJobs, metrics } = services;
  const server: DialectServices = {
    models,
    alias: modelAlias(settings, () => memory?.list() ?? []),
    now: () => Date.now(),
    startedAt: services.startedAt,
    newId: randomId,
    startTimer: systemTimer,
    documents: clients?.documents,
    files: clients?.files,
    addressFor: serverAddress,
  };
  const readChat: ReadChat = async (body, model) => (await decodeChat(body, { ...server, ...model })).request;
  const slotsOf = (text: TextService) => services.slots.get(text) ?? new SlotWatch();
  const pictures = { ...server, product, editor, imageJobs, randomSeed: () => randomInt(100_000, 1_000_000) };
  const files = fileServices(ownFolder('files'), settings, { files: clients?.files, uploads: clients?.uploads });
  const batches = { batches: clients?.batches, files: clients?.files, endpoints: () => endpoints };
  const peopleDeps = { access: admin, people: services.people, now: () => Date.now() };
  const records = async () => (await import('./person-data.ts')).personRecords(services);
  let packs: Promise<PackInstalls> | undefined;
  const endpoints: readonly ModelEndpoint<ModelContext>[] = forAdministrators(
    withSharedPaths<ModelContext>([
      ...nativeEndpoints({
        ...server,
        ...clients,
        product,
        engineVersions: installedEngineVersions,
        engineFeatures: taskFeatures,
        counters: () => taskCounters(services.requestQueue),
        serverFeatures: () => serverFeatures(services),
        readChat,
        warn,
        streams: services.streams,
        newSeed: () => randomInt(1, 1_000_000),
        mayAddFolders: (call) => mayAdminister(admin, call),
        seesPrompts: (call) => keys === undefined || mayAdminister(admin, call),
        fileForm: files.fileForm,
        ...(settings.singleinstance ? { shutdown } : {}),
      }),
      ...fileEndpoints(files),
      ...messagesFileEndpoints(files),
      ...batchEndpoints(batches),
      ...messageBatchEndpoints(batches),
      ...openaiEndpoints(server),
      ...vectorStoreEndpoints(server),
      ...xttsEndpoints({ outputFolder: ownFolder('output'), speechSettings: services.speechSettings }),
      ...realtimeEndpoints,
      ...responsesEndpoints(services.responses, server),
      ...messagesEndpoints(server),
      ...ollamaEndpoints(
        {
          modelFile: describeModelFile,
          now: () => performance.now(),
          download: async (name, call) =>
            mayAdminister(admin, call) ? (await library?.())?.download(name, call.signal) : undefined,
          presets: (call) => models?.presets && allowed(models.presets, admin, call),
        },
        server,
      ),
      ...llamacppEndpoints({ ...server, product, memory, metrics, slotsOf, readChat }),
      ...imagesEndpoints(pictures),
      ...comfyEndpoints({ ...pictures, prompts: services.comfy }),
      ...sdapiEndpoints({ ...pictures, readChat, last: services.lastDrawings }),
      ...adminEndpoints({ access: admin, swap: models?.swap, keys, usage }),
      ...peopleEndpoints({
        ...peopleDeps,
        port: settings.port,
        hasLeft: async (name) => (await records()).hasAny(name),
      }),
      ...personDataEndpoints({ ...peopleDeps, keys, records }),
      ...lanEndpoints(services.lan),
      ...modelStatusEndpoints({
        access: admin,
        owner: services.owner,
        models,
        memory,
        library,
        recommended: async () => (await import('./own-machine.ts')).recommendedHere(),
        hasKeyFile: keys !== undefined,
        fileFacts: modelFileFacts(),
        availableBytes,
        kindLabels,
      }),
      ...packEndpoints({ access: admin, packs: () => (packs ??= installsOf(services)) }),
      ...logEndpoints({ access: admin, log: services.log, redact: logRedactor(settings) }),
      ...presetEndpoints({ access: admin, presets: models?.presets }),
      ...downloadEndpoints({ access: admin, library }),
      deletionEndpoint({ access: admin, library, models }),
      ...requestEndpoints(services, server, () => endpoints),
      ...mcpEndpoints({ toolsOf: (call) => toolsFor(call, services), product }),
      ...mcpAdminEndpoints({ access: admin, tools, editor: services.toolEditor }),
      ...aboutEndpoints({ product, endpoints: () => endpoints }),
    ]),
    admin,
  );
  return endpoints;
}

/** The servers of `--mcpfile`, and the documents of the caller, with addresses as this client reaches the server. */
function toolsFor(call: Call, { tools, clients = {} }: ServerServices): ToolServers | undefined {
  const { documents } = clients;
  if (!documents || !mayUseDocuments(call)) return tools;
  const base = serverAddress(call);
  return joinedToolServers(tools, documentTools({ library: documents.of(call), base }));
}

/** As the client reaches this server, perhaps through a proxy with HTTPS; empty for a host that is none. */
function serverAddress({ headers, encrypted }: Pick<Call, 'headers' | 'encrypted'>): string {
  const { host = '', 'x-forwarded-proto': scheme } = headers;
  return /^[\w.:[\]-]+$/.test(host) ? `${encrypted || scheme === 'https' ? 'https' : 'http'}://${host}` : '';
}

/** Those that are for administrators only refuse all others before their handlers are called. */
function forAdministrators<Context>(endpoints: readonly ModelEndpoint<Context>[], access: AdminAccess) {
  return endpoints.map((endpoint) => {
    if (!endpoint.adminOnly) return endpoint;
    const handle: typeof endpoint.handle = (call, context) => allowed(endpoint.handle, access, call)(call, context);
    return { ...endpoint, handle };
  });
}

/** Loaded on first use: few people install packs. */
async function installsOf({ startedAt, models }: ServerServices): Promise<PackInstalls> {
  const [{ packInstalls }, { findNpmPackage }] = await Promise.all([
    import('../packs/installs.ts'),
    import('./npm-package.ts'),
  ]);
  const chosenAt = () => models?.swap?.load?.preparedAt() ?? startedAt;
  return packInstalls({ folder: ownFolder('packs'), chosenAt, fetch, findPackage: findNpmPackage });
}

function serverFeatures({ settings, admin, models, tools, clients = {} }: ServerServices) {
  return {
    protected: Boolean(settings.password || settings.keyfile),
    admin: adminLevel(admin),
    router: models?.byName ?? false,
    mcp: tools !== undefined && (tools.catalog?.servers().length ?? 1) > 0,
    savedata: Boolean(clients.slots),
    multiplayer: Boolean(clients.story),
    websearch: Boolean(clients.search),
    documents: Boolean(clients.documents),
    memories: Boolean(clients.memories),
  };
}

/** Documentation of the API and the pages, generated from the tables of endpoints and fields. */
function aboutEndpoints({ product, endpoints }: Pick<PagesOptions, 'product' | 'endpoints'>) {
  const apiDocument = openapiReplies(async (emulations) => {
    // Few clients read about the API.
    const { openapiDocument } = await import('../protocols/openapi/document.ts');
    return openapiDocument({ product, endpoints: documented(endpoints(), emulations), engineFeatures: featureNames });
  });
  const pages = pagesEndpoints({ product, endpoints, apiDocument: (call) => apiDocument('.', call) });
  return [
    fidelityEndpoint(endpoints),
    openapiEndpoint(apiDocument, fidelityDialect),
    ...noscriptEndpoints({ startTimer: systemTimer }),
    ...pages.map((page) => (page.path === '/' ? answeringProbes(page) : page)),
  ];
}

/** A path of two dialects is answered in the one whose fields it is sent. */
function withSharedPaths<Context>(endpoints: readonly ModelEndpoint<Context>[]): ModelEndpoint<Context>[] {
  const shared = endpoints.filter((endpoint) => endpoint.shared);
  const special = endpoints.filter(({ header }) => header !== undefined);
  return endpoints.map((endpoint) => {
    const { method, path, header } = endpoint;
    const other = special.find((one) => one.method === method && one.path === path);
    if (other && header === undefined) return { ...endpoint, also: other };
    const ours = shared.find((one) => one.method === method && one.shared?.path === path);
    return ours ? answeringBoth(endpoint, ours) : endpoint;
  });
}

async function describeModelFile(path: string, { longArrays }: { readonly longArrays: boolean }) {
  const header = await readGguf(path, longArrays ? { arrayEntries: Number.POSITIVE_INFINITY } : {});
  return { header, modifiedAt: (await stat(path)).mtimeMs };
}
