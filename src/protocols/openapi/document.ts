import type { EndpointFidelity } from '../../core/fidelity.ts';
import type { EndpointShape } from '../endpoint.ts';
import { requestExamples } from './examples.ts';
import { type OperationParts, operationOf, type Sent } from './operation.ts';
import { type OperationName, operationsIn, originalOf, pathsOf } from './operation-name.ts';

export interface DocumentParts {
  readonly product: { readonly name: string; readonly version: string };
  readonly endpoints: readonly EndpointShape[];
  /** What becomes of each field of each request. */
  readonly fidelities: readonly EndpointFidelity[];
}

/** Emulations of other programs, whose own documentation is the one to read; and pages, which are for people. */
const leftOut: ReadonlySet<string> = new Set(['ollama', 'comfy', 'xtts', 'vits', 'pages']);

/** The description of the server, made from the tables that it answers by: it cannot tell anything else. */
export function openapiDocument({ product, endpoints, fidelities }: DocumentParts): object {
  const told = endpoints.filter(({ family }) => !leftOut.has(family.name));
  const sent = sentByOperation(fidelities);
  const operations = told.flatMap((endpoint) => pathsOf(endpoint).map((path) => partsOf(endpoint, path, sent)));
  const paths: Record<string, Record<string, object>> = {};
  for (const parts of operations) {
    paths[parts.path] = { ...paths[parts.path], [parts.endpoint.method.toLowerCase()]: operationOf(parts) };
  }
  const bodies = operations.flatMap(({ endpoint, sent: body }) => (body && endpoint.method !== 'GET' ? [body] : []));
  return {
    openapi: '3.1.0',
    info: {
      title: product.name,
      version: product.version,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      description: introduction,
    },
    tags: tagsOf(told),
    paths,
    components: {
      securitySchemes: {
        key: { type: 'http', scheme: 'bearer', description: 'Asked for where the server has a password (--password).' },
      },
      schemas: Object.fromEntries(bodies.map(({ name, schema }) => [name, schema])),
    },
  };
}

const introduction = `One server, every API that local-AI apps already speak.

What becomes of a field is told with it: those that are not simply honoured are *approximated* (with the difference that is told),
*ignored* (accepted without effect, and named in the header \`x-parley-ignored\`) or *refused*. Null means the same as leaving a field
out. The controls of \`POST /api/v1/generate\` may stand beside the own fields of every text endpoint.`;

/** Some tables name a path with its version, and the endpoint answers without it too. */
function partsOf(endpoint: EndpointShape, path: string, sent: ReadonlyMap<string, Sent>): OperationParts {
  const { method } = endpoint;
  const original = originalOf(endpoint) ?? path;
  const body = sent.get(`${method} ${original}`) ?? sent.get(`${method} /v1${original}`);
  return { endpoint, path, original, sent: body, example: requestExamples[`${method} ${original}` as OperationName] };
}

/** The schema of what each operation is sent, under a name for it. */
function sentByOperation(fidelities: readonly EndpointFidelity[]): ReadonlyMap<OperationName, Sent> {
  const found = new Map<OperationName, Sent>();
  for (const { endpoint, schema } of fidelities) {
    const [first, ...rest] = operationsIn(endpoint);
    if (first === undefined || schema === undefined) continue;
    const sent = { name: schemaName(first), schema: schema() };
    for (const operation of [first, ...rest]) found.set(operation, sent);
  }
  return found;
}

/** `POST /v1/chat/completions` → `V1ChatCompletions`. */
function schemaName(operation: OperationName): string {
  const words = operation.split(/[^A-Za-z0-9]+/).slice(1);
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}

function tagsOf(endpoints: readonly EndpointShape[]): readonly object[] {
  const families = new Map(endpoints.map(({ family }) => [family.name, family.title]));
  return [...families].map(([name, description]) => ({ name, description }));
}
