import type { TextModel, TextService } from '../../core/text-service.ts';
import { textOf } from '../../gguf/types.ts';
import type { JsonObject } from '../../http/body.ts';
import { type Call, type Endpoint, json, type Reply } from '../../http/call.ts';
import { readFlag } from '../controls/fields.ts';
import { noticeHeaders } from '../dialect.ts';
import { timestamp } from './ending.ts';
import { jsonHeaders, modelNotFound, ollamaFamily } from './errors.ts';
import { showFidelity } from './fidelity.ts';
import { loadedModel } from './loading.ts';
import {
  capabilities,
  type KnownModel,
  type ModelFile,
  modelDetails,
  modelEntry,
  modelInfo,
  modifiedAt,
  usableContext,
} from './model-entry.ts';
import { modelRequired, namedModel, withBody } from './request.ts';

/** The level of the API that apps test for; not the version of this program. */
const ollamaVersion = '0.31.0';

export interface ModelParts {
  readonly text: TextService;
  readonly modelName: () => string;
  /** Reads the head of a model file; long arrays are kept only where all of it is wanted. */
  readonly modelFile: (path: string, options: { readonly longArrays: boolean }) => Promise<ModelFile>;
  /** Whether the model lies in memory; without this it does once it is ready. One that was let go still looks ready. */
  readonly loaded?: () => boolean;
  /** When the model will be unloaded, in milliseconds since 1970; infinity or nothing means never. */
  readonly expiresAt?: () => number;
  /** The template that chats are written with, where it is not that of the model. */
  readonly chatTemplate?: string | undefined;
  /** How much of the model lies in the memory of graphics cards. */
  readonly gpuBytes?: () => number;
}

/** Far enough, and still a date that every client can hold. */
const never = Date.UTC(2300, 0, 1);

export function modelEndpoints(parts: ModelParts): Endpoint[] {
  const open = { method: 'GET', match: 'ending', access: 'open', queued: false, family: ollamaFamily } as const;
  const files = new WeakMap<TextModel, Promise<ModelFile | undefined>>();
  const fileOf = (model: TextModel): Promise<ModelFile | undefined> => {
    const known = files.get(model) ?? readFile(model, parts, false);
    files.set(model, known);
    return known;
  };
  return [
    {
      ...open,
      path: '/api/version',
      summary: 'The level of the Ollama API that is spoken here.',
      handle: () => json({ version: ollamaVersion }, 200, jsonHeaders),
    },
    { ...open, path: '/api/tags', summary: 'The models that can be used.', handle: () => tags(parts, fileOf) },
    { ...open, path: '/api/ps', summary: 'The models in memory.', handle: () => running(parts, fileOf) },
    {
      ...open,
      method: 'POST',
      path: '/api/show',
      summary: 'All about a model: template, metadata, what it can do.',
      handle: withBody((body, call) => show(body, call, parts, fileOf)),
    },
    {
      ...open,
      path: '/api/status',
      summary: 'That nothing here runs elsewhere.',
      handle: () => json({ cloud: { disabled: true, source: 'config' } }, 200, jsonHeaders),
    },
  ];
}

type FileOf = (model: TextModel) => Promise<ModelFile | undefined>;

/** Undefined while it loads. */
async function knownModel(model: TextModel | undefined, parts: ModelParts, fileOf: FileOf): Promise<KnownModel> {
  return {
    name: parts.modelName(),
    model,
    template: parts.chatTemplate ?? model?.chatTemplate,
    file: model && (await fileOf(model)),
  };
}

async function tags(parts: ModelParts, fileOf: FileOf): Promise<Reply> {
  const state = parts.text.state();
  const list = (known: KnownModel): Reply => {
    const { name, model, ...rest } = modelEntry(known) as { name: string; model: string };
    return json({ models: [{ name, model, modified_at: modifiedAt(known), ...rest }] }, 200, jsonHeaders);
  };
  if (state.type === 'loading') return list(await knownModel(undefined, parts, fileOf));
  if (state.type !== 'ready') return json({ models: [] }, 200, jsonHeaders);
  return list(await knownModel(state.model, parts, fileOf));
}

async function running(parts: ModelParts, fileOf: FileOf): Promise<Reply> {
  const { text, loaded, expiresAt, gpuBytes } = parts;
  const state = text.state();
  if (state.type !== 'ready' || loaded?.() === false) return json({ models: [] }, 200, jsonHeaders);
  const { model } = state;
  const entry = {
    ...modelEntry(await knownModel(model, parts, fileOf)),
    expires_at: timestamp(Math.min(expiresAt?.() ?? never, never)),
    size_vram: gpuBytes?.() ?? 0,
    context_length: usableContext(model),
  };
  return json({ models: [entry] }, 200, jsonHeaders);
}

async function show(body: JsonObject, { headers }: Call, parts: ModelParts, fileOf: FileOf): Promise<Reply> {
  const asked = namedModel(body);
  if (asked === '') return modelRequired;
  if (parts.text.state().type === 'none') return modelNotFound(asked);
  const model = await loadedModel(parts.text);
  const verbose = readFlag(body, 'verbose', false);
  const known = await knownModel(model, parts, verbose ? () => readFile(model, parts, true) : fileOf);
  const { file } = known;
  const license = file && textOf(file.header, 'general.license');
  // This app shows the base name, and knows its models by the names that it asked for.
  const shownName = String(headers['user-agent']).startsWith('GitHubCopilotChat/') ? { 'general.basename': asked } : {};
  const reply = {
    ...(license === undefined ? {} : { license }),
    modelfile: `FROM ${known.name}\n`,
    parameters: `${'num_ctx'.padEnd(31)}${usableContext(model)}`,
    template: known.template ?? '',
    details: modelDetails(known),
    model_info: { ...modelInfo(known), ...shownName },
    capabilities: capabilities(known),
    modified_at: modifiedAt(known),
  };
  return json(reply, 200, { ...jsonHeaders, ...noticeHeaders(body, showFidelity) });
}

/** A file that was moved away after it was loaded leaves its facts empty; the model still runs. */
function readFile({ path }: TextModel, parts: ModelParts, longArrays: boolean): Promise<ModelFile | undefined> {
  return parts.modelFile(path, { longArrays }).catch(() => undefined);
}
