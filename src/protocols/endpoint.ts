import { AppError } from '../core/errors.ts';
import type { ModelSelection } from '../core/models-view.ts';
import { percentDecoded } from '../core/percent-decoded.ts';
import { isBlankBody, type JsonObject, jsonObject } from '../http/body.ts';
import type { AccessRule, Call, Dialect, EndpointInfo, Headers, Reply } from '../http/call.ts';
import type { DialectContext } from './dialect.ts';
import type { Table } from './fields.ts';
import type { DialectResponses } from './response-schemas.ts';
import { withoutPassed } from './sent-fields.ts';

/** A dialect with the schemas of its responses, which are loaded for the OpenAPI document. */
export interface DocumentedDialect extends Dialect {
  /** `engineFeatures`: the names that engine kinds have in the version reply. */
  readonly responses?: (engineFeatures: readonly string[]) => Promise<DialectResponses>;
}

/** What the documentation has of a path. */
interface PathShape {
  /** The table of its body or query. */
  readonly fields?: Table | undefined;
  /** The name of its response in the `responses.ts` of its dialect. */
  readonly response?: string;
}

/** An endpoint of a dialect without its handler. `queued` ones also count against `--ratelimit`. */
export interface EndpointShape extends Omit<EndpointInfo, 'rateLimited'>, ModelSelection, PathShape {
  readonly dialect: DocumentedDialect;
  /** Where a call names its model. Default: `modelInBody`. */
  readonly modelNamed?: ModelNamed;
  /** The inspector shows its requests in other dialects, as chats or as texts to be continued. */
  readonly replayedAs?: 'chat' | 'text';
  /** Requests of batches may be for it. */
  readonly batched?: boolean;
  /** The path that this is another name of. */
  readonly aliasOf?: string;
  /** With `match: 'prefix'`: the documented paths below it, where `{…}` are parameters. */
  readonly below?: Readonly<Record<string, PathShape>>;
  /** The field tables of the events of a WebSocket at this path, by their types. */
  readonly events?: Readonly<Record<string, Table>>;
  readonly shared?: SharedPath;
  /** The endpoint of another dialect that answers requests of this path too. */
  readonly also?: EndpointShape;
}

/** The name of the model in a call; undefined if it has none. Must not throw: the endpoint reports what is wrong. */
type ModelNamed = (call: Call) => string | undefined | Promise<string | undefined>;

/** Ollama's clients send `name`. */
export const modelInBody: ModelNamed = async ({ method, body, form, signal }) => {
  if (form) return form.fields.get('model')?.[0]?.trim() || undefined;
  if (method !== 'POST' || isBlankBody(body)) return undefined;
  try {
    const { model, name } = await jsonObject(body, { empty: 'object', signal });
    const sent = typeof model === 'string' ? model : typeof name === 'string' ? name : '';
    return sent.trim() || undefined;
  } catch {
    return undefined;
  }
};

/** `?model=`. Clients without the key cannot try names. */
export const modelInQuery: ModelNamed = ({ query, authorized }) =>
  (authorized ? query.get('model')?.trim() : '') || undefined;

/** A path of another dialect at which this endpoint answers the requests that have its fields. */
export interface SharedPath {
  readonly path: string;
  /** Fields that only clients of this dialect send. */
  readonly own: readonly string[];
  /** Fields that only clients of the other dialect send. */
  readonly foreign: readonly string[];
}

/** Its handler gets the context of the model that the call concerns. */
export interface ModelEndpoint<Context> extends EndpointShape {
  readonly handle: (call: Call, context: Context) => Reply | Promise<Reply>;
}

/** An endpoint whose handler needs no model: it fits into every list. */
export type PlainEndpoint = ModelEndpoint<unknown>;

/** The endpoints as the router calls them: their handlers get the services of the server beside the context of the model. */
export function withServices<Context, Services>(
  endpoints: readonly ModelEndpoint<Context>[],
  services: Services,
): ModelEndpoint<Omit<Context, keyof Services>>[] {
  return endpoints.map((endpoint) => ({
    ...endpoint,
    handle: async (call, context) =>
      withoutPassed(await endpoint.handle(call, { ...services, ...context } as Context), call),
  }));
}

type SharedShape = Pick<EndpointShape, 'method' | 'dialect'> &
  Partial<Omit<EndpointShape, 'path' | 'summary' | keyof AccessRule>>;

/**
 * Builds the rows of an endpoint table: `rule` (the words of `access.ts`) and `shared` are the same in all of them, `own` is what differs
 * in a row. A rule of its own replaces the shared one as a whole.
 */
export function endpointRow(rule: AccessRule, shared: SharedShape) {
  return <Context>(
    path: string,
    summary: string,
    handle: ModelEndpoint<Context>['handle'],
    own: Partial<EndpointShape> = {},
  ): ModelEndpoint<Context> => {
    const access = own.access ? { ...own, access: own.access } : rule;
    return { match: 'ending', queued: false, ...shared, path, summary, handle, ...own, ...access };
  };
}

/** A path below an endpoint. Its handler gets the parameters of the path. */
interface PathBelow<Context> extends PathShape {
  readonly handle: (call: Call, context: Context, ...parameters: string[]) => Reply | Promise<Reply>;
}

/** A row for the paths below `path`, by their patterns, such as `{id}/files/{file_id}`. All others are not found. */
export function rowBelow<Context>(
  row: ReturnType<typeof endpointRow>,
  path: string,
  summary: string,
  below: Readonly<Record<string, PathBelow<Context>>>,
  own: Partial<EndpointShape> = {},
): ModelEndpoint<Context> {
  const patterns = Object.entries(below).map(([pattern, { handle }]) => ({ segments: pattern.split('/'), handle }));
  // The path may have been requested without its beginning `/v1`.
  const starts = [`${path}/`, path.slice(path.lastIndexOf('/')).concat('/')];
  const handle = (call: Call, context: Context) => {
    const start = starts.find((one) => call.path.includes(one)) ?? '';
    const sent = call.path.slice(call.path.indexOf(start) + start.length).split('/');
    const match = patterns.find(
      ({ segments }) =>
        segments.length === sent.length && segments.every((one, index) => isParameter(one) || one === sent[index]),
    );
    if (!match) throw new AppError('not-found', { method: call.method, path: call.path });
    const parameters = sent.filter((_, index) => isParameter(match.segments[index] ?? ''));
    return match.handle(call, context, ...parameters.map(percentDecoded));
  };
  return row<Context>(`${path}/`, summary, handle, { match: 'prefix', below, ...own });
}

const isParameter = (segment: string): boolean => segment.startsWith('{');

/** The body of a call as a JSON object. An empty body is an error, or with `empty` an empty object. */
export function bodyOf({ body, signal }: Call, empty: 'object' | 'refuse' = 'refuse'): Promise<JsonObject> {
  return jsonObject(body, { empty, signal });
}

/** The last part of the path of a call: the id or name that it is about. */
export const lastPart = ({ path }: Pick<Call, 'path'>): string => percentDecoded(path.slice(path.lastIndexOf('/') + 1));

/** A reply whose body is JSON text already. */
export function jsonText(body: string | Uint8Array, headers: Headers = {}): Reply {
  return { status: 200, headers: { 'content-type': 'application/json', ...headers }, body };
}

/** The body of a generating request, with the defaults of the server applied. */
export async function requestBody(call: Call, { applyDefaults }: Pick<DialectContext, 'applyDefaults'>) {
  return applyDefaults(await bodyOf(call));
}

/** The endpoint, and the same at other paths. */
export function atPaths<Context>(
  endpoint: ModelEndpoint<Context>,
  ...paths: readonly string[]
): readonly ModelEndpoint<Context>[] {
  const { path: aliasOf } = endpoint;
  return [endpoint, ...paths.map((path) => ({ ...endpoint, path, aliasOf, summary: `Another name for ${aliasOf}.` }))];
}

/** Also without `/v1` in its path. The short path must match exactly: as an ending it would match other dialects. */
export function withShortPath<Context>(endpoint: ModelEndpoint<Context>): readonly ModelEndpoint<Context>[] {
  const [own, ...short] = atPaths(endpoint, endpoint.path.replace('/v1', ''));
  const match = endpoint.match === 'prefix' ? 'prefix' : 'exact';
  return [own ?? endpoint, ...short.map((row) => ({ ...row, match }) as const)];
}

/**
 * The paths of an endpoint in the notation of OpenAPI, with what they are other names of (or themselves); none for `rest`.
 */
export function documentedPaths({
  match,
  path,
  aliasOf = path,
  below,
  fields,
  response,
}: Pick<EndpointShape, 'match' | 'path' | 'aliasOf' | 'below' | keyof PathShape>) {
  if (match === 'rest') return [];
  const rest = match === 'prefix' && path.endsWith('/') ? '{rest}' : '';
  return Object.entries(below ?? { [rest]: { fields, response } }).map(([end, { fields, response }]) => ({
    path: `${path}${end}`,
    original: `${aliasOf}${end}`,
    fields,
    response,
  }));
}

/** The documentation has the APIs that imitate other products only with `?all=1`. */
export const wantsEmulations = ({ query }: Pick<Call, 'query'>): boolean => query.get('all') === '1';

export function documented<Listed extends Pick<EndpointShape, 'dialect'>>(
  endpoints: readonly Listed[],
  emulations: boolean,
): readonly Listed[] {
  return emulations ? endpoints : endpoints.filter(({ dialect }) => !dialect.emulation);
}
