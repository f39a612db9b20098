import { equalName } from '../../core/model-names.ts';
import type {
  HeldModel,
  LibraryModel,
  ListedModel,
  ModelFileFacts,
  ModelMemory,
  ModelsView,
} from '../../core/models-view.ts';
import type { TextModel, TextState } from '../../core/text-service.ts';
import { type Call, json } from '../../http/call.ts';
import { read } from '../access.ts';
import type { DialectContext } from '../dialect.ts';
import type { ModelEndpoint } from '../endpoint.ts';
import { adminReadRow, mayAdminister } from './access.ts';
import { type HubServices, hubEndpoints } from './library.ts';
import { type OwnerAccess, ownerEndpoint } from './owner.ts';

/** The default text model. */
export interface ModelStatusContext extends Pick<DialectContext, 'text' | 'modelName' | 'taskServices'> {
  readonly name: string;
}

export interface ModelStatusServices extends HubServices {
  readonly owner: OwnerAccess;
  readonly models?: ModelsView | undefined;
  readonly memory?: Pick<ModelMemory, 'list'> | undefined;
  /** Whether the server has a key file (`--keyfile`), which may be empty. */
  readonly hasKeyFile: boolean;
  readonly fileFacts: (path: string) => Promise<ModelFileFacts | undefined>;
  readonly availableBytes: () => number;
  /** The engine kinds and their names for people, in the order of the reply. */
  readonly kindLabels: Readonly<Record<string, string>>;
}

export function modelStatusEndpoints(services: ModelStatusServices): ModelEndpoint<ModelStatusContext>[] {
  const { access, owner, models, library, hasKeyFile, availableBytes, kindLabels } = services;
  return [
    adminReadRow(
      '/api/extra/models',
      'All models of every kind: state, memory, context, and what this key may change.',
      async (call, context: ModelStatusContext) =>
        json({
          models: labelled([...(await textModels(context, services)), ...taskModels(context, services)], kindLabels),
          available_bytes: availableBytes(),
          router: models?.byName ?? false,
          admin: {
            enabled: access.enabled,
            allowed: mayAdminister(access, call),
            key_file: hasKeyFile,
            owner: owner.type === 'page' ? 'page' : owner.reason,
          },
          last_failure: models?.swap?.failure?.() ?? null,
          advice: (mayAdminister(access, call) && models?.swap?.advice?.()) || null,
        }),
      { ...read(), response: 'models' },
    ),
    adminReadRow(
      '/api/admin/engine_output',
      'The last lines that the engine program of a model has printed (`?model=NAME`); none of a model without one.',
      async (call: Call) => {
        const requested = call.query.get('model') ?? '';
        const held = (services.memory?.list() ?? []).find(({ name, output }) => output && equalName(name, requested));
        return json({ lines: (mayAdminister(access, call) && held?.output?.()) || [] });
      },
      { response: 'engineOutput' },
    ),
    adminReadRow(
      '/api/admin/models',
      'The models and configs on this machine, for reload_config.',
      async (call: Call) => {
        const files = mayAdminister(access, call) ? await (await library?.())?.list() : undefined;
        return json({ models: (files ?? []).map(libraryEntry) });
      },
      { response: 'modelFiles' },
    ),
    ...hubEndpoints(services),
    ownerEndpoint(owner),
  ];
}

function labelled<Model extends { readonly kind: string }>(
  models: readonly Model[],
  labels: Readonly<Record<string, string>>,
) {
  const order = Object.keys(labels);
  return models
    .toSorted((one, other) => order.indexOf(one.kind) - order.indexOf(other.kind))
    .map((model) => ({ ...model, label: labels[model.kind] ?? model.kind }));
}

async function textModels(context: ModelStatusContext, services: ModelStatusServices) {
  const { text, name, modelName } = context;
  const { models } = services;
  const held = (services.memory?.list() ?? []).filter(({ kind }) => kind === 'text');
  const now = text.state();
  const listed: readonly ListedModel[] | undefined = await models?.list();
  const byName = models?.byName ?? false;
  if (listed && listed.length > 0)
    return Promise.all(
      listed.map(async (model) =>
        textStatus(
          model,
          // A preset has the state of the engine that serves it.
          held.find((one) => one.name === (model.preset?.base ?? model.name)),
          {
            id: byName || listed.some(({ preset }) => preset) ? model.id : null,
            own: model.present ? now : undefined,
            file: model.path === undefined ? undefined : await services.fileFacts(model.path),
          },
        ),
      ),
    );
  if (now.type === 'none') return [];
  const known = now.type === 'ready' ? now.model : undefined;
  const file = known?.path ? await services.fileFacts(known.path) : undefined;
  const loaded = now.type === 'ready' && text.loaded?.() !== false;
  const entry = {
    name: shortName(modelName(), name),
    present: true,
    state: loaded ? 'ready' : 'unloaded',
    known,
  } as const;
  const own = held.find((one) => equalName(one.name, name));
  return [textStatus(entry, own, { id: null, own: now, file })];
}

/** `inactive` is the name while the model has failed to load. */
function shortName(modelName: string, own: string): string {
  return modelName === 'inactive' ? own : modelName.replace(/^koboldcpp\//, '');
}

function textStatus(
  { name, present, known, state, preset }: Pick<ListedModel, 'name' | 'present' | 'known' | 'state' | 'preset'>,
  held: HeldModel | undefined,
  { id, own, file }: { id: string | null; own: TextState | undefined; file: ModelFileFacts | undefined },
) {
  return {
    // For requests that name it; null if only one model of its kind can be used.
    id,
    kind: 'text',
    ...measures(known, file),
    ...heldStatus(held ?? unheld(state)),
    ...(own ? ownStatus(own) : {}),
    name,
    base: preset?.base ?? null,
    previews: null,
    default: present,
  };
}

function unheld(state: ListedModel['state']): Held {
  const type = state === 'ready' || state === 'leaving' ? state : 'unloaded';
  return { state: { type }, bytes: undefined, expiresAt: Number.POSITIVE_INFINITY, inUse: 0 };
}

/** What only the service knows: a remote backend that does not answer, and why a load failed. */
function ownStatus(state: TextState) {
  if (state.type === 'failed') return { state: 'failed', reason: state.reason, progress: null } as const;
  if (state.type === 'loading' && state.trouble)
    return { state: 'failed', reason: state.trouble.sentence ?? state.trouble.reason, progress: null } as const;
  return {};
}

function measures(known: TextModel | undefined, file: ModelFileFacts | undefined) {
  return {
    file_bytes: known?.sizeBytes || file?.bytes || null,
    parameters: known?.parameters || file?.parameters || null,
    quantization: file?.quantization ?? null,
    context: known?.contextSize || null,
    trained_context: known?.trainedContext || file?.context || null,
  };
}

/** Models of the other kinds, each name once per kind. A text model is listed as another kind only while it is loaded as one. */
function taskModels({ taskServices }: ModelStatusContext, { memory }: ModelStatusServices) {
  const held = memory?.list() ?? [];
  const textNames = new Set(held.flatMap(({ kind, name }) => (kind === 'text' ? [name] : [])));
  const others = held.filter(
    ({ kind, name, state }) => kind !== 'text' && !(state.type === 'unloaded' && textNames.has(name)),
  );
  return others.map((one) => ({
    id: null,
    name: one.name,
    base: null,
    kind: one.kind,
    default: false,
    ...measures(undefined, undefined),
    ...heldStatus(one),
    // Whether pictures can be seen between their steps.
    previews:
      one.kind === 'image' && taskServices?.image?.name === one.name
        ? (taskServices.image.facts.previews ?? null)
        : null,
  }));
}

const states = {
  ready: 'loaded',
  loading: 'loading',
  unloaded: 'unloaded',
  leaving: 'unloading',
  failed: 'failed',
} as const;

type Held = Pick<HeldModel, 'state' | 'bytes' | 'expiresAt' | 'inUse' | 'output' | 'pinned'>;

function heldStatus({ state, bytes, expiresAt, inUse, output, pinned = false }: Held) {
  return {
    state: states[state.type],
    progress: state.type === 'loading' ? state.progress : null,
    reason: state.type === 'failed' ? state.reason : null,
    memory_bytes: bytes || null,
    active_requests: inUse,
    // Whether /api/admin/engine_output has something.
    has_output: (output?.().length ?? 0) > 0,
    pinned,
    expires_at: Number.isFinite(expiresAt) ? new Date(expiresAt).toISOString() : null,
  };
}

function libraryEntry({ option, name, type, program, facts }: LibraryModel) {
  return {
    filename: option,
    name,
    type,
    program: program ?? null,
    file_bytes: facts?.bytes ?? null,
    parameters: facts?.parameters ?? null,
    quantization: facts?.quantization ?? null,
    trained_context: facts?.context ?? null,
  };
}
