import { AppError } from '../../core/errors.ts';
import type { JsonSchema } from '../../core/fidelity.ts';
import type { Family } from '../../http/call.ts';
import type { EndpointShape } from '../endpoint.ts';
import { contentTypesOf } from './answers.ts';
import { operationId } from './operation-name.ts';

export interface Sent {
  /** Where the schema of the body, or of the query, stands among the components. */
  readonly name: string;
  readonly schema: JsonSchema;
}

export interface OperationParts {
  readonly endpoint: EndpointShape;
  readonly path: string;
  /** The path that this one is another name of, or itself. */
  readonly original: string;
  readonly sent?: Sent | undefined;
  readonly example?: object | undefined;
}

/** One operation of the document, as OpenAPI 3.1 has them. */
export function operationOf({ endpoint, path, original, sent, example }: OperationParts): object {
  const { method, match, access, family, summary, queued } = endpoint;
  const parameters = [...pathParameters(path), ...(method === 'GET' && sent ? queryParameters(sent.schema) : [])];
  const prefix = match === 'ending' ? 'Answers below any prefix too.' : '';
  const waits = queued ? 'Takes its turn in the queue.' : '';
  return {
    operationId: operationId(method, path),
    tags: [family.name],
    summary,
    ...((prefix || waits) && { description: [waits, prefix].filter(Boolean).join(' ') }),
    ...(parameters.length > 0 && { parameters }),
    ...(method === 'POST' && { requestBody: requestBody(endpoint, sent, example) }),
    responses: responsesOf(endpoint, original),
    // An empty entry is one that asks for nothing: whether a key is needed depends on how the server was started.
    security: access !== 'open' ? [{ key: [] }, {}] : [{}],
  };
}

function requestBody({ form }: EndpointShape, sent: Sent | undefined, example: object | undefined): object {
  const schema = sent ? { $ref: `#/components/schemas/${sent.name}` } : { type: 'object' };
  const required = ((sent?.schema.required ?? []) as readonly string[]).length > 0;
  return {
    required,
    content: {
      'application/json': { schema, ...(example && { example }) },
      // Files are parts of their own in a form; all else in it is text.
      ...(form && { 'multipart/form-data': { schema } }),
    },
  };
}

function pathParameters(path: string): readonly object[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
}

function queryParameters({ properties = {}, required = [] }: JsonSchema): readonly object[] {
  return Object.entries(properties as Readonly<Record<string, JsonSchema>>).map(
    ([name, { description, ...schema }]) => ({
      name,
      in: 'query',
      required: (required as readonly string[]).includes(name),
      ...(description !== undefined && { description }),
      schema,
    }),
  );
}

function responsesOf({ method, family, access, queued }: EndpointShape, path: string): object {
  const failures: readonly AppError[] = [
    ...(method === 'POST' ? [new AppError('invalid-field', { field: 'some_field', expected: 'a number' })] : []),
    ...(access !== 'open' ? [new AppError('unauthorized', {})] : []),
    ...(queued ? [new AppError('busy', { retryAfterSeconds: 5 })] : []),
  ];
  return {
    200: {
      description: 'The answer.',
      content: Object.fromEntries(contentTypesOf(path).map((type) => [type, { schema: answerSchema(type) }])),
    },
    ...Object.fromEntries(failures.map((error) => failureOf(error, family))),
  };
}

function answerSchema(type: string): JsonSchema {
  if (type === 'application/json') return {};
  if (type === 'text/event-stream') return { type: 'string', description: 'Server-sent events, as they are made.' };
  return type.startsWith('text/') ? { type: 'string' } : { type: 'string', contentMediaType: type };
}

/** Said by the family itself, so that the example is what a client gets; some have a status of their own for it. */
function failureOf(error: AppError, family: Family): readonly [string, object] {
  const reply = family.errorReply(error);
  const type = (reply.headers?.['content-type'] ?? 'application/json').split(';', 1)[0] ?? '';
  const body = 'body' in reply ? String(reply.body) : '';
  const example = type === 'application/json' ? (JSON.parse(body) as unknown) : body;
  return [String(reply.status), { description: error.message, content: { [type]: { example } } }];
}
