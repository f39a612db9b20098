import * as s from '../response-schemas.ts';

const error = s.object({
  error: s.object({ message: s.string, type: s.string, param: s.nil, code: s.nullable(s.string) }),
});

/** The WebSocket itself has events, which OpenAPI cannot describe. */
export const errors = { realtime: error };

export const responses = { refused: s.refused };
