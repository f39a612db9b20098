import { AppError } from '../../core/errors.ts';
import { type Family, json } from '../../http/call.ts';
import { busyDetail, retryHeaders } from '../../http/error-reply.ts';
import { errorCodes } from '../error-codes.ts';

export const openaiFamily: Family = {
  name: 'openai',
  title: 'OpenAI-compatible API',
  errorReply(error) {
    return json(errorBody(error), error.status, retryHeaders(error));
  },
};

/** The `detail` beside `error` is what clients of the native family read on a path that both kinds of client call. */
export function errorBody(error: AppError): object {
  return { error: errorObject(error), ...busyDetail(error) };
}

export function errorObject(error: AppError): object {
  const { code, details, status } = error;
  return {
    message: sentence(error),
    type: status >= 500 ? 'server_error' : 'invalid_request_error',
    param: paramOf(error),
    code: 'wireCode' in details ? details.wireCode : (errorCodes[code] ?? null),
    // Clients of llama.cpp's server read the two figures to shorten the conversation by the right amount.
    ...('promptTokens' in details ? { n_prompt_tokens: details.promptTokens, n_ctx: details.contextSize } : {}),
  };
}

function paramOf({ code, details }: AppError): string | null {
  if ('field' in details) return details.field;
  return code === 'model-not-found' ? 'model' : null;
}

/** Agents recognise a full context by the words "maximum context length is", whatever the code says. */
function sentence({ message, details }: AppError): string {
  if (!('promptTokens' in details)) return message;
  const what = 'field' in details ? details.field : 'prompt';
  return `This model's maximum context length is ${details.contextSize} tokens, and the ${what} came to ${details.promptTokens}; a reply needs room too. Please reduce the length of the ${what}.`;
}

/** A full context is the fault of the field that the prompt was made from, which only the endpoint knows. */
export function locate(error: AppError, promptField: string): AppError {
  if (error.code !== 'context-overflow') return error;
  const details = { ...(error as AppError<'context-overflow'>).details, field: promptField };
  return new AppError('context-overflow', details, { cause: error });
}

/** Refused because the field, or this value of it, cannot be honoured; `field` tells the client which one. */
export function unsupportedField(
  field: string,
  instead: string,
  wireCode: 'unsupported_parameter' | 'unsupported_value' = 'unsupported_parameter',
): AppError {
  const details = { feature: field, instead, field, wireCode };
  return new AppError('unsupported', details);
}
