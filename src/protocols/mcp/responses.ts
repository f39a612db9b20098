import * as s from '../response-schemas.ts';

const head = { jsonrpc: s.literal('2.0'), id: s.union(s.string, s.number, s.nil) };
const error = s.object({ ...head, error: s.object({ code: s.integer, message: s.string, 'data?': s.any }) });
/** Results are those of the tool servers. */
const result = s.object({ ...head, result: s.anyObject });
const progress = s.object({
  jsonrpc: s.literal('2.0'),
  method: s.literal('notifications/progress'),
  params: s.looseObject({ progressToken: s.any, progress: s.number }),
});
const answer = s.union(result, error);

export const errors = { mcp: error };

export const responses = {
  // 202 without a body for a notification.
  message: { ...s.oneOf(s.json(answer), s.sse(s.union(progress, answer))), statuses: [200, 202] },
};
