import * as a from '../answers.ts';

const error = a.object({
  error: a.object({ message: a.text, type: a.text, param: a.nothing, code: a.orNull(a.text) }),
});

/** The WebSocket itself has events, which OpenAPI cannot describe. */
export const realtimeAnswers: a.DialectAnswers = {
  errors: { realtime: error },
  answers: a.each('GET', ['/v1/realtime', '/realtime'], a.refused),
};
