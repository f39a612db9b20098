import type { JsonSchema } from '../core/fidelity.ts';

/**
 * Response schemas of a dialect, for the OpenAPI document; `npm run test:fuzz` checks every response against them. They stand in
 * the `responses.ts` of the dialect, which is loaded with the document.
 */
export interface DialectResponses {
  /** The body of an error by the name of the dialect, for every status of 400 and more. */
  readonly errors: Readonly<Record<string, JsonSchema>>;
  /** By the names that rows have for them (`response`). */
  readonly responses: Readonly<Record<string, ResponseSchema>>;
  /** Request bodies that can be sent unchanged to try a POST endpoint, by the names of its response. */
  readonly examples?: Readonly<Record<string, object>>;
}

/** The successful responses of an endpoint. */
export interface ResponseSchema {
  readonly content: Readonly<Record<string, MediaType>>;
  /** Default: 200. */
  readonly statuses?: readonly number[];
  /** The body of errors, where it is not that of the dialect, or not always. */
  readonly errors?: JsonSchema;
}

/** `x-stream-event`: one event of server-sent events (its data), or one line of NDJSON. */
export interface MediaType {
  readonly schema: JsonSchema;
  readonly 'x-stream-event'?: JsonSchema;
  /** Data of the last event, which is not JSON. */
  readonly 'x-stream-end'?: string;
}

export const string: JsonSchema = { type: 'string' };
export const boolean: JsonSchema = { type: 'boolean' };
export const number: JsonSchema = { type: 'number' };
export const integer: JsonSchema = { type: 'integer' };
export const count: JsonSchema = { type: 'integer', minimum: 0 };
export const base64: JsonSchema = { type: 'string', contentEncoding: 'base64' };
export const dateTime: JsonSchema = { type: 'string', format: 'date-time' };
export const nil: JsonSchema = { type: 'null' };
/** Fields of clients and of other programs, which are passed on. */
export const any: JsonSchema = {};
export const anyObject: JsonSchema = { type: 'object' };

/** Properties whose name ends with a question mark are optional. */
type Properties = Readonly<Record<string, JsonSchema>>;

/** An object with these properties and no others. */
export function object(properties: Properties): JsonSchema {
  return { ...looseObject(properties), additionalProperties: false };
}

/** An object with at least these properties. */
export function looseObject(properties: Properties): JsonSchema {
  const entries = Object.entries(properties);
  const required = entries.flatMap(([name]) => (name.endsWith('?') ? [] : [name]));
  return {
    type: 'object',
    properties: Object.fromEntries(entries.map(([name, schema]) => [name.replace(/\?$/, ''), schema])),
    ...(required.length > 0 && { required }),
  };
}

/** Several properties of one schema. */
export function properties(schema: JsonSchema, ...names: readonly string[]): Properties {
  return Object.fromEntries(names.map((name) => [name, schema]));
}

export function array(items: JsonSchema): JsonSchema {
  return { type: 'array', items };
}

/** An object whose keys are not known beforehand. */
export function record(values: JsonSchema): JsonSchema {
  return { type: 'object', additionalProperties: values };
}

/** One of these values. */
export function literal(...values: readonly (string | number | boolean | null)[]): JsonSchema {
  return values.length === 1 ? { const: values[0] } : { enum: values };
}

export function union(...schemas: readonly JsonSchema[]): JsonSchema {
  return { anyOf: schemas };
}

/** One of several objects, which their property `type` tells apart. `shared`: the properties that all of them have. */
export function byType(kinds: Readonly<Record<string, Properties>>, shared: Properties = {}): JsonSchema {
  const objects = Object.entries(kinds).map(([type, own]) => object({ ...shared, type: literal(type), ...own }));
  return union(...objects);
}

export function nullable(schema: JsonSchema): JsonSchema {
  return union(schema, nil);
}

/** The document has it once, under this name among its components. */
export function named(title: string, schema: JsonSchema): JsonSchema {
  return 'title' in schema ? schema : { title, ...schema };
}

export function json(schema: JsonSchema): ResponseSchema {
  return { content: { 'application/json': { schema } } };
}

/** JSON that is an object with these properties and no others. */
export function jsonObject(properties: Properties): ResponseSchema {
  return json(object(properties));
}

/** Server-sent events. */
export function sse(event: JsonSchema, end?: string): ResponseSchema {
  const stream = { schema: string, 'x-stream-event': event, ...(end !== undefined && { 'x-stream-end': end }) };
  return { content: { 'text/event-stream': stream } };
}

/** A line of JSON for each event. */
export function ndjson(...kinds: readonly JsonSchema[]): ResponseSchema {
  const event = union(...kinds.map(numbered));
  return { content: { 'application/x-ndjson': { schema: string, 'x-stream-event': event } } };
}

/** The lines of a resumable stream have numbers. */
function numbered(line: JsonSchema): JsonSchema {
  return { ...line, properties: { ...(line.properties as object), i: count } };
}

/** Texts and files of these types. */
export function media(...types: readonly string[]): ResponseSchema {
  const schemaOf = (type: string): JsonSchema =>
    type.startsWith('text/') ? string : { ...string, contentMediaType: type };
  return { content: Object.fromEntries(types.map((type) => [type, { schema: schemaOf(type) }])) };
}

/** One of several responses, as the request chooses. */
export function oneOf(...responses: readonly ResponseSchema[]): ResponseSchema {
  const types = new Set(responses.flatMap(({ content }) => Object.keys(content)));
  return {
    content: Object.fromEntries(
      [...types].map((type) => [type, merged(responses.flatMap(({ content }) => content[type] ?? []))]),
    ),
  };
}

function merged([first, ...rest]: readonly MediaType[]): MediaType {
  if (!first || rest.length === 0) return first ?? { schema: any };
  const all = [first, ...rest];
  const schemas = new Set(all.map(({ schema }) => schema));
  const streamed = all.map((one) => one['x-stream-event']).filter((event) => event !== undefined);
  return {
    ...Object.assign({}, ...all),
    schema: schemas.size > 1 ? union(...schemas) : first.schema,
    ...(streamed.length > 0 && { 'x-stream-event': union(...streamed) }),
  };
}

/** Never answered with success. */
export const refused: ResponseSchema = { content: {}, statuses: [] };

/** For endpoints with bodies of errors of their own, beside that of the dialect. */
export function withErrors(response: ResponseSchema, errors: JsonSchema): ResponseSchema {
  return { ...response, errors };
}

/** A page of a list in the form of the OpenAI APIs. */
export function page(entry: JsonSchema): ResponseSchema {
  const ids = { first_id: nullable(string), last_id: nullable(string) };
  return json(object({ object: literal('list'), data: array(entry), ...ids, has_more: boolean }));
}

/** What the OpenAI APIs reply when something was deleted. */
export function deleted(name: string): ResponseSchema {
  return json(object({ id: string, object: literal(name), deleted: literal(true) }));
}

/** How many tokens a prompt has, in both OpenAI dialects. */
export const inputTokens: ResponseSchema = jsonObject({
  object: literal('response.input_tokens'),
  input_tokens: count,
});

/** Attributes of a file in a collection. */
export const fileAttributes: JsonSchema = record(union(string, number, boolean));

/** `detail` that dialects add to the error of a full queue or a missing key, for clients of the native API. */
export const busyDetail: JsonSchema = object({ msg: string, type: string, 'error?': string });

/** The error object of both OpenAI dialects. */
export const openaiError: JsonSchema = named(
  'OpenaiError',
  object({
    message: string,
    type: literal('server_error', 'rate_limit_error', 'invalid_request_error'),
    param: nullable(string),
    code: nullable(string),
    'n_prompt_tokens?': count,
    'n_ctx?': count,
  }),
);

/** How far a prompt is processed, as llama.cpp's server reports it. */
export const promptProgress: JsonSchema = named(
  'PromptProgress',
  object({ total: count, cache: count, processed: count, time_ms: count }),
);

/** Speed figures of llama.cpp's server, which the OpenAI dialects have too. */
export const timings: JsonSchema = named(
  'Timings',
  object({
    cache_n: count,
    prompt_n: count,
    ...properties(number, 'prompt_ms', 'prompt_per_token_ms', 'prompt_per_second'),
    predicted_n: count,
    ...properties(number, 'predicted_ms', 'predicted_per_token_ms', 'predicted_per_second'),
  }),
);

/** The list of vectors in the form of OpenAI. */
export const embeddingList: JsonSchema = named(
  'EmbeddingList',
  object({
    object: literal('list'),
    model: string,
    data: array(object({ object: literal('embedding'), index: count, embedding: union(array(number), base64) })),
    usage: object({ prompt_tokens: count, total_tokens: count }),
  }),
);

/** Speech in the formats of the server. */
export const audio: ResponseSchema = media('audio/wav', 'audio/mpeg', 'audio/ogg', 'audio/flac', 'audio/pcm');

/** A citation of the OpenAI APIs. */
export const urlCitation = { url: string, title: string, start_index: count, end_index: count };
