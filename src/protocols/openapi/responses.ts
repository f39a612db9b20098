import { AppError } from '../../core/errors.ts';
import type { JsonSchema } from '../../core/fidelity.ts';
import type { Family } from '../../http/call.ts';
import { type Answer, anything, type DialectAnswers, either, type MediaType, named, oneOf } from '../answers.ts';
import type { EndpointShape } from '../endpoint.ts';

/** The responses of an operation; `original` is the path that `path` is another name of, or `path` itself. */
type ResponsesOf = (endpoint: EndpointShape, path: string, original: string) => object;

/** Schemas of answers are put into `components`, and referred to. */
export function responsesWith(
  dialects: readonly DialectAnswers[],
  components: Record<string, JsonSchema>,
): ResponsesOf {
  const answers = new Map(dialects.flatMap((one) => Object.entries(one.answers)));
  const errors = new Map(
    dialects.flatMap((one) =>
      Object.entries(one.errors).map(([family, schema]) => [family, named(`error_${family}`, schema)] as const),
    ),
  );
  return (endpoint, path, original) => {
    const { method, family, also } = endpoint;
    const own = answerOf(answers, method, path, original);
    const other = also && otherAnswer(answers, also, path);
    const { operation, answer } =
      own && other ? { operation: `${method} ${path}`, answer: oneOf(own.answer, other.answer) } : (own ?? {});
    const others = answer?.errors ?? (also && errors.get(also.family.name));
    const error = errors.get(family.name) ?? anything;
    const failure = { schema: withRefs(others ? either(error, others) : error, components) };
    return {
      ...(answer && successes(answer, schemaName(operation ?? ''), components)),
      ...Object.fromEntries(failuresOf(endpoint).map((one) => failureOf(one, family, failure))),
      default: { description: 'An error.', content: { 'application/json': failure } },
    };
  };
}

/** Answers at a path of two dialects are named by the header that tells them apart. */
function otherAnswer(answers: ReadonlyMap<string, Answer>, also: EndpointShape, path: string) {
  const { method, header } = also;
  if (header === undefined) return answerOf(answers, method, also.path, also.path);
  const answer = answers.get(`${method} ${path} with ${header}`);
  return answer && { answer };
}

function answerOf(answers: ReadonlyMap<string, Answer>, method: string, path: string, original: string) {
  const below = /\{\w+\}.*$/.exec(path)?.[0] ?? '';
  const names = [path, original, `${original}${below}`].map((name) => `${method} ${name}`);
  const operation = names.find((name) => answers.has(name));
  return operation === undefined ? undefined : { operation, answer: answers.get(operation) as Answer };
}

function successes(
  { content, statuses = [200] }: Answer,
  name: string,
  components: Record<string, JsonSchema>,
): object {
  const entries = Object.entries(content).map(
    ([type, media]) => [type, mediaWithRefs(media, name, components)] as const,
  );
  return Object.fromEntries(
    statuses.map((status) => [
      status,
      status === 200
        ? { description: 'The response.', content: Object.fromEntries(entries) }
        : { description: 'Without a body.' },
    ]),
  );
}

function mediaWithRefs(media: MediaType, name: string, components: Record<string, JsonSchema>): object {
  const { schema, 'x-stream-event': event, ...rest } = media;
  return {
    schema: withRefs(isLarge(schema) ? named(name, schema) : schema, components),
    ...(event && { 'x-stream-event': withRefs(named(`${name}_event`, event), components) }),
    ...rest,
  };
}

/** Worth a component: aliases have it too. */
function isLarge(schema: JsonSchema): boolean {
  return 'properties' in schema || 'anyOf' in schema || 'items' in schema;
}

/** A schema with a title becomes a component; its prefix tells it from those of requests. */
function withRefs(schema: JsonSchema, components: Record<string, JsonSchema>): JsonSchema {
  const { title, ...rest } = schema;
  if (typeof title !== 'string') return inner(rest, components);
  const name = `Answer.${title}`;
  components[name] ??= { title, ...inner(rest, components) };
  return { $ref: `#/components/schemas/${name}` };
}

function inner(schema: JsonSchema, components: Record<string, JsonSchema>): JsonSchema {
  const each = (value: unknown): unknown =>
    typeof value === 'object' && value !== null ? withRefs(value as JsonSchema, components) : value;
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => {
      if (keyword === 'anyOf') return [keyword, (value as readonly JsonSchema[]).map(each)];
      if (keyword === 'properties') {
        return [keyword, Object.fromEntries(Object.entries(value as object).map(([name, one]) => [name, each(one)]))];
      }
      return [keyword, keyword === 'items' || keyword === 'additionalProperties' ? each(value) : value];
    }),
  );
}

function failuresOf({ method, access, queued }: EndpointShape): readonly AppError[] {
  return [
    ...(method === 'POST' ? [new AppError('invalid-field', { field: 'some_field', expected: 'a number' })] : []),
    ...(access !== 'open' ? [new AppError('unauthorized', {})] : []),
    ...(queued ? [new AppError('busy', { retryAfterSeconds: 5 })] : []),
  ];
}

/** The example is the reply of the family itself; some families change the status. */
function failureOf(error: AppError, family: Family, failure: MediaType): readonly [string, object] {
  const reply = family.errorReply(error);
  const body = 'body' in reply ? String(reply.body) : '';
  const content = { 'application/json': { ...failure, example: JSON.parse(body) as unknown } };
  return [String(reply.status), { description: error.message, content }];
}

/** `POST /v1/chat/completions` → `post_v1_chat_completions`. */
function schemaName(operation: string): string {
  return operation
    .split(/[^A-Za-z0-9]+/)
    .filter(Boolean)
    .join('_')
    .toLowerCase();
}
