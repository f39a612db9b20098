import type { AppError } from '../../core/errors.ts';
import { type Family, type Headers, json, type Reply } from '../../http/call.ts';
import { busyDetail, retryHeaders } from '../../http/error-reply.ts';
import { line } from '../../http/sse.ts';

export const jsonHeaders = { 'content-type': 'application/json; charset=utf-8' } as const;

/** A failure is one plain sentence in this dialect; its clients show nothing else of it. */
export const ollamaFamily: Family = {
  name: 'ollama',
  title: 'Ollama-compatible API',
  errorReply: (error) => json(errorBody(error), error.status, { ...jsonHeaders, ...retryHeaders(error) }),
};

/** For failures that have a wording of their own in this dialect and in no other. */
export function refusal(status: number, error: string, headers: Headers = {}): Reply {
  return json({ error }, status, { ...jsonHeaders, ...headers });
}

export function modelNotFound(name: string): Reply {
  return refusal(404, `model '${name}' not found`);
}

/** The last line of a stream that went wrong: the status was sent long ago. */
export function errorLine(error: AppError): string {
  return line(errorBody(error));
}

function errorBody(error: AppError): object {
  return { error: wording(error), ...busyDetail(error) };
}

/** Apps recognise a prompt that is too long by these words. */
function wording({ code, message }: AppError): string {
  if (code === 'input-too-long') return `the input length exceeds the context length: ${message.replace(/\.$/, '')}`;
  if (code !== 'context-overflow') return message;
  return `the input length exceeds the context length: ${message.replace(/^The/, 'the').replace(/\.$/, '')}`;
}
