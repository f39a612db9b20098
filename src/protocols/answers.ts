import type { JsonSchema } from '../core/fidelity.ts';

/**
 * Schemas of answers, for the OpenAPI document; `npm run test:fuzz` checks every answer against them. Each dialect declares
 * its answers in a file `answers.ts`, which is loaded with the document; `server/answers.ts` collects them.
 */
export interface DialectAnswers {
  /** The body of an error by the name of the family, for every status of 400 and more. */
  readonly errors: Readonly<Record<string, JsonSchema>>;
  /** By method and path as the document names it. An alias has the answer of its original. */
  readonly answers: Readonly<Record<string, Answer>>;
  /** Request bodies that can be sent unchanged to try an endpoint, by the same names. */
  readonly examples?: Readonly<Record<string, object>>;
}

/** The successful answers of an endpoint. */
export interface Answer {
  readonly content: Readonly<Record<string, MediaType>>;
  /** 200 unless told otherwise. */
  readonly statuses?: readonly number[];
  /** The body of errors, where it is not that of the family, or not always. */
  readonly errors?: JsonSchema;
}

/** `x-stream-event`: one event of server-sent events (its data), or one line of NDJSON. */
export interface MediaType {
  readonly schema: JsonSchema;
  readonly 'x-stream-event'?: JsonSchema;
  /** Data of the last event, which is not JSON. */
  readonly 'x-stream-end'?: string;
}

export const text: JsonSchema = { type: 'string' };
export const flag: JsonSchema = { type: 'boolean' };
export const number: JsonSchema = { type: 'number' };
export const whole: JsonSchema = { type: 'integer' };
export const count: JsonSchema = { type: 'integer', minimum: 0 };
export const base64: JsonSchema = { type: 'string', contentEncoding: 'base64' };
export const moment: JsonSchema = { type: 'string', format: 'date-time' };
export const nothing: JsonSchema = { type: 'null' };
/** Fields of clients and of other programs, which are passed on. */
export const anything: JsonSchema = {};
export const anyObject: JsonSchema = { type: 'object' };

/** Members whose name ends with a question mark may be left out. */
type Members = Readonly<Record<string, JsonSchema>>;

/** An object with these members and no others. */
export function object(members: Members): JsonSchema {
  return { ...open(members), additionalProperties: false };
}

/** An object with at least these members. */
export function open(members: Members): JsonSchema {
  const entries = Object.entries(members);
  const required = entries.flatMap(([name]) => (name.endsWith('?') ? [] : [name]));
  return {
    type: 'object',
    properties: Object.fromEntries(entries.map(([name, schema]) => [name.replace(/\?$/, ''), schema])),
    ...(required.length > 0 && { required }),
  };
}

/** Several members of one schema. */
export function members(schema: JsonSchema, ...names: readonly string[]): Members {
  return Object.fromEntries(names.map((name) => [name, schema]));
}

export function list(items: JsonSchema): JsonSchema {
  return { type: 'array', items };
}

/** An object whose member names are not known beforehand. */
export function mapOf(values: JsonSchema): JsonSchema {
  return { type: 'object', additionalProperties: values };
}

export function words(...values: readonly (string | number | boolean | null)[]): JsonSchema {
  return values.length === 1 ? { const: values[0] } : { enum: values };
}

export function either(...schemas: readonly JsonSchema[]): JsonSchema {
  return { anyOf: schemas };
}

/** One of several objects, which their member `type` tells apart. `shared`: the members that all of them have. */
export function byType(kinds: Readonly<Record<string, Members>>, shared: Members = {}): JsonSchema {
  const objects = Object.entries(kinds).map(([type, own]) => object({ ...shared, type: words(type), ...own }));
  return either(...objects);
}

export function orNull(schema: JsonSchema): JsonSchema {
  return either(schema, nothing);
}

/** The document has it once, under this name among its components. */
export function named(title: string, schema: JsonSchema): JsonSchema {
  return 'title' in schema ? schema : { title, ...schema };
}

export function json(schema: JsonSchema): Answer {
  return { content: { 'application/json': { schema } } };
}

/** JSON that is an object with these members and no others. */
export function answer(members: Members): Answer {
  return json(object(members));
}

/** Server-sent events. */
export function events(event: JsonSchema, end?: string): Answer {
  const stream = { schema: text, 'x-stream-event': event, ...(end !== undefined && { 'x-stream-end': end }) };
  return { content: { 'text/event-stream': stream } };
}

/** A line of JSON for each event. */
export function lines(...kinds: readonly JsonSchema[]): Answer {
  const event = either(...kinds.map(numbered));
  return { content: { 'application/x-ndjson': { schema: text, 'x-stream-event': event } } };
}

/** The lines of a resumable stream have numbers. */
function numbered(line: JsonSchema): JsonSchema {
  return { ...line, properties: { ...(line.properties as object), i: count } };
}

/** Texts and files of these types. */
export function media(...types: readonly string[]): Answer {
  const schemaOf = (type: string): JsonSchema =>
    type.startsWith('text/') ? text : { ...text, contentMediaType: type };
  return { content: Object.fromEntries(types.map((type) => [type, { schema: schemaOf(type) }])) };
}

/** One of several answers, as the request chooses. */
export function oneOf(...answers: readonly Answer[]): Answer {
  const types = new Set(answers.flatMap(({ content }) => Object.keys(content)));
  return {
    content: Object.fromEntries(
      [...types].map((type) => [type, merged(answers.flatMap(({ content }) => content[type] ?? []))]),
    ),
  };
}

function merged([first, ...rest]: readonly MediaType[]): MediaType {
  if (!first || rest.length === 0) return first ?? { schema: anything };
  const all = [first, ...rest];
  const schemas = new Set(all.map(({ schema }) => schema));
  const streamed = all.map((one) => one['x-stream-event']).filter((event) => event !== undefined);
  return {
    ...Object.assign({}, ...all),
    schema: schemas.size > 1 ? either(...schemas) : first.schema,
    ...(streamed.length > 0 && { 'x-stream-event': either(...streamed) }),
  };
}

/** Never answered with success. */
export const refused: Answer = { content: {}, statuses: [] };

/** For endpoints with bodies of errors of their own, beside that of the family. */
export function withErrors(answer: Answer, errors: JsonSchema): Answer {
  return { ...answer, errors };
}

/** The same answer for several paths of one method. */
export function each(method: string, paths: readonly string[], answer: Answer): Readonly<Record<string, Answer>> {
  return Object.fromEntries(paths.map((path) => [`${method} ${path}`, answer]));
}

/** A page of a list in the form of the OpenAI APIs. */
export function page(entry: JsonSchema): Answer {
  const ids = { first_id: orNull(text), last_id: orNull(text) };
  return json(object({ object: words('list'), data: list(entry), ...ids, has_more: flag }));
}

/** What the OpenAI APIs answer when something was deleted. */
export function deleted(name: string): Answer {
  return json(object({ id: text, object: words(name), deleted: words(true) }));
}

/** `detail` that families add to the error of a full queue or a missing key, for clients of the native API. */
export const busyDetail: JsonSchema = object({ msg: text, type: text, 'error?': text });

/** The error object of both OpenAI dialects. */
export const openaiError: JsonSchema = named(
  'OpenaiError',
  object({
    message: text,
    type: words('server_error', 'rate_limit_error', 'invalid_request_error'),
    param: orNull(text),
    code: orNull(text),
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
    ...members(number, 'prompt_ms', 'prompt_per_token_ms', 'prompt_per_second'),
    predicted_n: count,
    ...members(number, 'predicted_ms', 'predicted_per_token_ms', 'predicted_per_second'),
  }),
);

/** The list of vectors in the form of OpenAI. */
export const embeddingList: JsonSchema = named(
  'EmbeddingList',
  object({
    object: words('list'),
    model: text,
    data: list(object({ object: words('embedding'), index: count, embedding: either(list(number), base64) })),
    usage: object({ prompt_tokens: count, total_tokens: count }),
  }),
);

/** Speech in the formats of the server. */
export const sounds: Answer = media('audio/wav', 'audio/mpeg', 'audio/ogg', 'audio/flac', 'audio/pcm');

/** A citation of the OpenAI APIs. */
export const citedUrl = { url: text, title: text, start_index: count, end_index: count };
