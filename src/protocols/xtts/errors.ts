import type { AppError } from '../../core/errors.ts';
import { type Family, json, type Reply } from '../../http/call.ts';
import { busyDetail, retryHeaders } from '../../http/error-reply.ts';

/** The original answers in one sentence, and in a list where a field is missing; a full queue is told as everywhere. */
export const xttsFamily: Family = {
  name: 'xtts',
  title: 'XTTS API server',
  errorReply(error) {
    const missing = missingField(error);
    if (missing !== undefined) return missing;
    const unloaded = error.code === 'model-missing';
    const detail = unloaded ? { msg: error.message, type: 'service_unavailable' } : error.message;
    return json({ detail, ...busyDetail(error) }, error.status, retryHeaders(error));
  },
};

export const vitsFamily: Family = {
  name: 'vits',
  title: 'VITS simple API',
  errorReply(error) {
    const told = { status: 'error', message: error.message, ...busyDetail(error) };
    return json(told, error.status, retryHeaders(error));
  },
};

function missingField({ code, details, message: msg }: AppError): Reply | undefined {
  if (code !== 'invalid-field' || !('field' in details)) return undefined;
  const field = details.field === 'input' ? 'text' : details.field;
  return json({ detail: [{ loc: ['body', field], msg, type: 'value_error' }] }, 422);
}
