import type { Resolve, Schema } from './schema.ts';

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly required: boolean;
  readonly schema: Schema;
}

export interface MediaSchema {
  readonly schema: Schema;
  readonly example?: unknown;
  readonly 'x-stream-event'?: Schema;
  readonly 'x-stream-end'?: string;
}

export interface Operation {
  readonly method: string;
  /** With its parameters in braces. */
  readonly path: string;
  readonly family: string;
  readonly parameters: readonly Parameter[];
  /** Undefined if there is no body. */
  readonly body: Schema | undefined;
  readonly example: Readonly<Record<string, unknown>>;
  readonly takesForm: boolean;
  /** By status, or `default`. */
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, MediaSchema>> }>>;
}

interface RawOperation {
  readonly tags: readonly string[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, MediaSchema>> };
  readonly responses: Operation['responses'];
}

export interface ApiDocument {
  readonly operations: readonly Operation[];
  readonly resolve: Resolve;
}

/** The OpenAPI document of a running server. */
export async function fetchDocument(base: string): Promise<ApiDocument> {
  const document = (await (await fetch(`${base}/api/openapi.json?all=1`)).json()) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, RawOperation>>>>;
    readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
  };
  const resolve: Resolve = (reference) => {
    const schema = document.components.schemas[reference.replace('#/components/schemas/', '')];
    if (!schema) throw new Error(`The document has no ${reference}.`);
    return schema;
  };
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { tags, parameters = [], requestBody, responses }]): Operation => {
      const { schema, example = {} } = requestBody?.content['application/json'] ?? {};
      return {
        method: method.toUpperCase(),
        path,
        family: tags[0] ?? '',
        parameters,
        body: schema?.$ref ? resolve(String(schema.$ref)) : schema,
        example: example as Operation['example'],
        takesForm: Object.hasOwn(requestBody?.content ?? {}, 'multipart/form-data'),
        responses,
      };
    }),
  );
  return { operations, resolve };
}

export const nameOf = ({ method, path }: Pick<Operation, 'method' | 'path'>): string => `${method} ${path}`;
