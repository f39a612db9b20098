import { type AppError, type ErrorCode, evenCompacted } from '../../core/errors.ts';
import { json } from '../../http/call.ts';
import { busyDetail, retryHeaders } from '../../http/error-reply.ts';
import type { DocumentedDialect } from '../endpoint.ts';
import { openaiError } from '../error-codes.ts';

/** Inside of a failed response: agents compact their history or wait when they read these. */
const failureCodes: Partial<Record<ErrorCode, string>> = {
  'context-overflow': 'context_length_exceeded',
  busy: 'rate_limit_exceeded',
  'rate-limited': 'rate_limit_exceeded',
  'key-rate-limited': 'rate_limit_exceeded',
  'key-tokens-used': 'rate_limit_exceeded',
};

export const responsesDialect: DocumentedDialect = {
  name: 'responses',
  title: 'Responses-compatible API',
  responses: () => import('./responses.ts'),
  errorReply(error) {
    const param = paramOf(error);
    const code = param === 'previous_response_id' ? 'previous_response_not_found' : undefined;
    const body = { error: openaiError(error, messageOf(error), param, code), ...busyDetail(error) };
    return json(body, error.status, retryHeaders(error));
  },
};

/** `response.error` of a reply that fails after its start. */
export function failureObject(error: AppError): object {
  return { code: failureCodes[error.code] ?? 'server_error', message: messageOf(error) };
}

/** Programs that do not know the code look for the words "maximum context length". */
function messageOf({ message, details }: AppError): string {
  if (!('promptTokens' in details)) return message;
  return `The input has ${details.promptTokens} tokens, which with room for a reply is more than the maximum context length of ${details.contextSize} tokens${details.compacted ? `, ${evenCompacted}` : ''}.`;
}

function paramOf({ details }: AppError): string | null {
  if ('promptTokens' in details) return 'input';
  if ('field' in details) return details.field ?? null;
  // A feature that is spelled like a field is one.
  return 'feature' in details && /^[a-z_.]+$/.test(details.feature) ? details.feature : null;
}
