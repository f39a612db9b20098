import type { ErrorCode } from '../core/errors.ts';

/** The machine-readable name of a failure, as the clients of both OpenAI families know it. */
export const errorCodes: Partial<Record<ErrorCode, string>> = {
  unauthorized: 'invalid_api_key',
  unsupported: 'unsupported_parameter',
  'context-overflow': 'context_length_exceeded',
  'input-too-long': 'context_length_exceeded',
  busy: 'server_busy',
  'rate-limited': 'server_busy',
  'model-missing': 'model_not_loaded',
  'model-unavailable': 'model_not_loaded',
  'model-load-failed': 'model_not_loaded',
  'model-late': 'model_not_loaded',
  'model-not-found': 'model_not_found',
};
