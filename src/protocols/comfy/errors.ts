import type { ErrorCode } from '../../core/errors.ts';
import { json } from '../../http/call.ts';
import { busyDetail, retryHeaders } from '../../http/error-reply.ts';
import type { DocumentedDialect } from '../endpoint.ts';
import type { GraphProblem, NodeErrors } from './graph.ts';

export const comfyDialect: DocumentedDialect = {
  name: 'comfy',
  title: 'ComfyUI API',
  emulation: true,
  responses: () => import('./responses.ts'),
  errorReply(error) {
    const type = types[error.code] ?? (error.status >= 500 ? 'server_error' : 'invalid_request');
    const body = { ...refusalBody({ type, message: error.message, details: '' }), ...busyDetail(error) };
    return json(body, error.status, retryHeaders(error));
  },
};

const types: Partial<Record<ErrorCode, string>> = {
  'invalid-json': 'invalid_prompt',
  'invalid-field': 'invalid_prompt',
  'not-found': 'not_found',
  'missing-parameter': 'not_found',
  'model-missing': 'no_model',
};

export function refusalBody(
  { type, message, details, extra_info = {} }: GraphProblem,
  nodeErrors: NodeErrors = {},
): object {
  return { error: { type, message, details, extra_info }, node_errors: nodeErrors };
}
