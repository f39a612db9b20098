import * as a from '../answers.ts';

const head = { jsonrpc: a.words('2.0'), id: a.either(a.text, a.number, a.nothing) };
const error = a.object({ ...head, error: a.object({ code: a.whole, message: a.text, 'data?': a.anything }) });
/** Results are those of the tool servers. */
const result = a.object({ ...head, result: a.anyObject });
const progress = a.object({
  jsonrpc: a.words('2.0'),
  method: a.words('notifications/progress'),
  params: a.open({ progressToken: a.anything, progress: a.number }),
});
const answer = a.either(result, error);

export const mcpAnswers: a.DialectAnswers = {
  errors: { mcp: error },
  answers: {
    // 202 without a body for a notification.
    'POST /mcp': { ...a.oneOf(a.json(answer), a.events(a.either(progress, answer))), statuses: [200, 202] },
  },
};
