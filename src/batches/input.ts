import type { BatchProblem, BatchRequest } from '../core/batches.ts';
import { AppError } from '../core/errors.ts';
import { isObject } from '../core/json.ts';
import { jsonObject } from '../http/body.ts';
import { type Line, linesOf } from './lines.ts';

interface InputRules {
  readonly endpoint: string;
  readonly maxRequests: number;
  readonly maxLineBytes: number;
  /** Why no request of this endpoint can have this model; undefined if one can. */
  readonly modelProblem: (model: string | undefined) => Promise<string | undefined>;
}

/** Further problems are not reported. */
const maxProblems = 100;
/** Of all requests together, as in the OpenAI API. */
const maxEmbeddings = 50_000;

const problem = (code: string, message: string, own: Partial<BatchProblem> = {}): BatchProblem => ({
  code,
  message,
  ...own,
});

/** Reads the input file of an OpenAI batch: its requests, or what is wrong with it. `valid` is called for each valid request. */
export async function readInput(
  content: AsyncIterable<Uint8Array>,
  rules: InputRules,
  valid: (request: BatchRequest) => Promise<void>,
): Promise<readonly BatchProblem[]> {
  const problems: BatchProblem[] = [];
  const seen = new Map<string, number>();
  let embeddings = 0;
  for await (const line of linesOf(content, rules.maxLineBytes)) {
    if (problems.length >= maxProblems) break;
    if (seen.size >= rules.maxRequests) {
      const message = `The file has more than ${rules.maxRequests} requests.`;
      return [...problems, problem('too_many_tasks', message, { line: line.number })];
    }
    const read = await requestIn(line, rules);
    if ('code' in read) {
      problems.push(read);
      continue;
    }
    const { customId, body } = read;
    const earlier = seen.get(customId);
    if (earlier !== undefined) {
      const message = `The custom_id ${JSON.stringify(customId)} is that of line ${earlier}, too.`;
      problems.push(problem('duplicate_custom_id', message, { line: line.number, param: 'custom_id' }));
      continue;
    }
    seen.set(customId, line.number);
    embeddings += rules.endpoint.endsWith('/embeddings') ? inputsIn(body) : 0;
    if (embeddings > maxEmbeddings) {
      const message = `All requests together have more than ${maxEmbeddings} inputs.`;
      return [...problems, problem('too_many_inputs', message, { line: line.number, param: 'body.input' })];
    }
    if (problems.length === 0) await valid(read);
  }
  if (seen.size === 0 && problems.length === 0) return [problem('empty_file', 'The file has no requests.')];
  return problems;
}

async function requestIn(line: Line, { endpoint, maxLineBytes, modelProblem }: InputRules) {
  const at = (code: string, message: string, param?: string) =>
    problem(code, message, { line: line.number, ...(param !== undefined && { param }) });
  if ('tooLong' in line) {
    const megabytes = Math.floor(maxLineBytes / 2 ** 20);
    return at('request_too_large', `The request is larger than ${megabytes} MB (--maxrequestsize).`);
  }
  let request: Readonly<Record<string, unknown>>;
  try {
    request = await jsonObject(line.bytes, { empty: 'refuse' });
  } catch (error) {
    return at('invalid_json_line', jsonProblem(line.number, error));
  }
  const { custom_id: customId, method, url, body } = request;
  if (typeof customId !== 'string' || customId === '')
    return at('missing_required_parameter', 'custom_id must be a string that is not empty.', 'custom_id');
  if (method !== 'POST') return at('invalid_method', 'method must be "POST".', 'method');
  if (url !== endpoint) return at('invalid_url', `url must be the endpoint of the batch, "${endpoint}".`, 'url');
  if (!isObject(body)) return at('invalid_request', 'body must be an object.', 'body');
  const unknown = await modelProblem(typeof body.model === 'string' ? body.model : undefined);
  if (unknown !== undefined) return at('model_not_found', unknown, 'body.model');
  return { customId, body } satisfies BatchRequest;
}

/** Lines are parsed as request bodies; the message names the line instead of the body. */
function jsonProblem(line: number, error: unknown): string {
  if (!(error instanceof AppError)) return `Line ${line} cannot be read: ${String(error)}.`;
  if (error.code !== 'invalid-json') return `Line ${line} must be a JSON object.`;
  const { reason } = (error as AppError<'invalid-json'>).details;
  return `Line ${line} is not valid JSON: ${reason}. Each line must be one JSON object.`;
}

function inputsIn({ input }: BatchRequest['body']): number {
  return Array.isArray(input) && !input.every((entry) => typeof entry === 'number') ? input.length : 1;
}
