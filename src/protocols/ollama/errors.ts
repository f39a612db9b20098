import type { AppError } from '../../core/errors.ts';
import type { JsonObject } from '../../http/body.ts';
import { type Call, type Headers, json, type Reply } from '../../http/call.ts';
import { busyDetail, retryHeaders } from '../../http/error-reply.ts';
import { line } from '../../http/sse.ts';
import { write } from '../access.ts';
import { bodyOf, type DocumentedDialect, endpointRow } from '../endpoint.ts';

/** A failure is one sentence in this dialect; its clients show nothing else of it. */
export const ollamaDialect: DocumentedDialect = {
  name: 'ollama',
  title: 'Ollama-compatible API',
  emulation: true,
  responses: () => import('./responses.ts'),
  errorReply: (error) => jsonReply(errorBody(error), retryHeaders(error), error.status),
};

/** An endpoint that generates. */
export const ollamaRow = endpointRow(write('text'), { method: 'POST', queued: true, dialect: ollamaDialect });

export function jsonReply(body: object, headers: Headers = {}, status = 200): Reply {
  return json(body, status, { 'content-type': 'application/json; charset=utf-8', ...headers });
}

/** For failures whose wording only this dialect has. */
export function refusal(status: number, error: string): Reply {
  return jsonReply({ error }, {}, status);
}

export const modelRequired: Reply = refusal(400, 'model is required');

export function modelNotFound(name: string): Reply {
  return refusal(404, `model '${name}' not found`);
}

/** The last line of a stream that failed: its status is sent already. */
export function errorLine(error: AppError): string {
  return line(errorBody(error));
}

function errorBody(error: AppError): object {
  return { error: wording(error), ...busyDetail(error) };
}

/** Apps recognise a prompt that is too long by these words. */
function wording({ code, message }: AppError): string {
  if (code !== 'input-too-long' && code !== 'context-overflow') return message;
  return `the input length exceeds the context length: ${message.replace(/^The /, 'the ').replace(/\.$/, '')}`;
}

/** Old clients send the name of the model in another field. */
export function namedModel(fields: { readonly model: string | undefined; readonly name: string | undefined }): string {
  return fields.model ?? fields.name ?? '';
}

/** A handler of an endpoint that needs a body. */
export function withBody<Context>(
  answer: (body: JsonObject, call: Call, context: Context) => Reply | Promise<Reply>,
): (call: Call, context: Context) => Promise<Reply> {
  return async (call, context) =>
    call.body.length === 0 ? refusal(400, 'missing request body') : answer(await bodyOf(call), call, context);
}
