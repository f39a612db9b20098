import * as s from '../response-schemas.ts';

const handling = s.literal('honoured', 'approximated', 'ignored', 'refused');

export const errors = { fidelity: s.object({ detail: s.object({ msg: s.string, type: s.string }) }) };

export const responses = {
  openapi: s.json(s.looseObject({ openapi: s.string, info: s.anyObject, paths: s.anyObject, components: s.anyObject })),
  fidelity: s.jsonObject({
    handling: s.object({ honoured: s.string, approximated: s.string, ignored: s.string, refused: s.string }),
    endpoints: s.array(
      s.object({
        dialect: s.string,
        endpoint: s.string,
        fields: s.array(s.object({ field: s.string, handling, 'note?': s.string })),
      }),
    ),
  }),
};
