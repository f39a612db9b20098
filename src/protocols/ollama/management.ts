import { AppError } from '../../core/errors.ts';
import type { TextService } from '../../core/text-service.ts';
import type { JsonObject } from '../../http/body.ts';
import { type Call, type Headers, json, type Reply } from '../../http/call.ts';
import { line, ndjsonHeaders } from '../../http/sse.ts';
import { noticeHeaders } from '../dialect.ts';
import type { ModelEndpoint } from '../endpoint.ts';
import { readFields } from '../fields/table.ts';
import { jsonHeaders, modelNotFound, ollamaFamily, refusal } from './errors.ts';
import { copyFields, createFields, deleteFields, pullFidelity, pullFields, pushFields } from './fields.ts';
import { modelRequired, namedModel, withBody } from './request.ts';

export interface ManagementParts {
  readonly text: TextService;
  readonly modelName: () => string;
}

const guarded = { method: 'POST', match: 'ending', access: 'guarded', queued: false, family: ollamaFamily } as const;

/** Models are files that the server was started with; apps that want to manage them are told so, never fooled. */
export const managementEndpoints: readonly ModelEndpoint<ManagementParts>[] = [
  {
    ...guarded,
    path: '/api/pull',
    summary: 'Nothing is downloaded: says whether the name can be used.',
    handle: withBody((body, _, parts: ManagementParts) => pull(body, parts)),
  },
  {
    ...guarded,
    path: '/api/push',
    summary: 'Not there: always answers 400.',
    handle: withBody((body) => (namedModel(readFields(pushFields, body)) === '' ? modelRequired : refuse('Push'))),
  },
  {
    ...guarded,
    path: '/api/create',
    summary: 'Not there: always answers 400.',
    handle: withBody((body) => (namedModel(readFields(createFields, body)) === '' ? modelRequired : refuse('Create'))),
  },
  {
    ...guarded,
    path: '/api/copy',
    summary: 'Not there: answers 400, or 404 for a model that is not loaded.',
    handle: withBody((body, _, parts: ManagementParts) => change(readFields(copyFields, body).source, 'Copy', parts)),
  },
  {
    ...guarded,
    method: 'DELETE',
    path: '/api/delete',
    summary: 'Not there: answers 400, or 404 for a model that is not loaded.',
    handle: withBody((body, _, parts: ManagementParts) =>
      change(namedModel(readFields(deleteFields, body)), 'Delete', parts),
    ),
  },
  {
    ...guarded,
    match: 'prefix',
    path: '/api/blobs/',
    // Whoever asks whether a blob is there would not send it if it were.
    probeStatus: 404,
    summary: 'Not there: always answers 400.',
    handle: () => refuse('Blob upload'),
  },
  { ...guarded, path: '/api/me', summary: 'There are no accounts: always answers 401.', handle: noAccount },
  { ...guarded, path: '/api/signout', summary: 'There are no accounts: always answers 401.', handle: noAccount },
];

function noAccount(_: Call): Reply {
  return refusal(401, 'unauthorized');
}

function refuse(feature: string): never {
  throw new AppError('unsupported', { feature, instead: 'models are files here; start the server with --model FILE' });
}

function change(name: string, feature: string, { modelName }: ManagementParts): Reply {
  if (name === '') return modelRequired;
  return isSameModel(name, modelName()) ? refuse(feature) : modelNotFound(name);
}

/**
 * Apps pull a model before they chat with it, and every name is answered by the loaded one: so a name can be used as soon
 * as there is a model, and the lines say which one that is.
 */
function pull(body: JsonObject, { text, modelName }: ManagementParts): Reply {
  const fields = readFields(pullFields, body);
  const name = namedModel(fields);
  if (name === '') return modelRequired;
  const { stream } = fields;
  const notices = noticeHeaders(body, pullFidelity);
  const state = text.state().type;
  if (state === 'none' || state === 'failed') {
    const error = 'pull model manifest: file does not exist';
    return stream ? lines([{ status: 'pulling manifest' }, { error }], notices) : refusal(404, error);
  }
  if (!stream) return json({ status: 'success' }, 200, { ...jsonHeaders, ...notices });
  const note = { status: `nothing to download: ${modelName()} answers to this name` };
  const notes = isSameModel(name, modelName()) ? [] : [note];
  return lines([{ status: 'pulling manifest' }, ...notes, { status: 'success' }], notices);
}

function lines(values: readonly object[], headers: Headers): Reply {
  return { status: 200, headers: { ...ndjsonHeaders, ...headers }, body: values.map(line).join('') };
}

/** The tag says nothing unless it is another than the usual one, and neither does the case. */
function isSameModel(asked: string, loaded: string): boolean {
  const plain = (name: string): string => name.toLowerCase().replace(/:latest$/, '');
  const bare = (name: string): string => plain(name).replace(/^.*\//, '');
  return plain(asked) === plain(loaded) || plain(asked) === bare(loaded);
}
