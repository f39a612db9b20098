import { AppError, evenCompacted } from '../../core/errors.ts';
import { json } from '../../http/call.ts';
import { busyDetail, retryHeaders } from '../../http/error-reply.ts';
import { write } from '../access.ts';
import { atPaths, type DocumentedDialect, type EndpointShape, endpointRow, type ModelEndpoint } from '../endpoint.ts';
import { openaiError } from '../error-codes.ts';

export const openaiDialect: DocumentedDialect = {
  name: 'openai',
  title: 'OpenAI-compatible API',
  responses: () => import('./responses.ts'),
  errorReply: (error) => json(errorBody(error), error.status, retryHeaders(error)),
};

/** An endpoint that generates. */
export const openaiRow = endpointRow(write('text'), { method: 'POST', queued: true, dialect: openaiDialect });

/** An endpoint below `/v1/audio`, and below `/audio` with any prefix. */
export function audioRows<Context>(
  name: string,
  summary: string,
  handle: ModelEndpoint<Context>['handle'],
  own: Partial<EndpointShape>,
) {
  return atPaths(openaiRow(`/v1/audio/${name}`, summary, handle, own), `/audio/${name}`);
}

/** Of endpoints that speak or transcribe. */
export const audioTask = { ...write('audio'), modelSelection: 'any-name' } as const;

/** Clients of the native API, which share some paths, read `detail`. */
export function errorBody(error: AppError): object {
  return { error: errorObject(error), ...busyDetail(error) };
}

export function errorObject(error: AppError): object {
  const { code, details } = error;
  const missing = code === 'model-not-found' ? 'model' : null;
  const param = 'field' in details ? (details.field ?? null) : missing;
  return openaiError(error, sentence(error), param, 'wireCode' in details ? details.wireCode : undefined);
}

/** Agents recognize a full context by the words "maximum context length is", whatever the code is. */
function sentence({ message, details }: AppError): string {
  if (!('promptTokens' in details)) return message;
  const what = 'field' in details ? (details.field ?? 'prompt') : 'prompt';
  return `This model's maximum context length is ${details.contextSize} tokens, and the ${what} came to ${details.promptTokens}${details.compacted ? `, ${evenCompacted}` : ''}; a reply needs room too. Please reduce the length of the ${what}.`;
}

/** Adds the field that the prompt was made from to the error of a full context: only the endpoint knows it. */
export function locate(error: AppError, promptField: string): AppError {
  if (error.code !== 'context-overflow') return error;
  const details = { ...(error as AppError<'context-overflow'>).details, field: promptField };
  return new AppError('context-overflow', details, { cause: error });
}

/** The server cannot do what the field, or this value of it, asks for. */
export function unsupportedField(
  field: string,
  instead: string,
  wireCode: 'unsupported_parameter' | 'unsupported_value' = 'unsupported_parameter',
): AppError {
  const details = { feature: field, instead, field, wireCode };
  return new AppError('unsupported', details);
}
