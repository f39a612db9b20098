import * as a from '../answers.ts';

export const openapiAnswers: a.DialectAnswers = {
  errors: {},
  answers: {
    'GET /api/openapi.json': a.json(
      a.open({ openapi: a.text, info: a.anyObject, paths: a.anyObject, components: a.anyObject }),
    ),
  },
};
