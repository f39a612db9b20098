import * as a from '../answers.ts';

const handling = a.words('honoured', 'approximated', 'ignored', 'refused');

export const fidelityAnswers: a.DialectAnswers = {
  errors: { fidelity: a.object({ detail: a.object({ msg: a.text, type: a.text }) }) },
  answers: {
    'GET /api/extra/fidelity': a.json(
      a.object({
        handling: a.object({ honoured: a.text, approximated: a.text, ignored: a.text, refused: a.text }),
        endpoints: a.list(
          a.object({
            dialect: a.text,
            endpoint: a.text,
            fields: a.list(a.object({ field: a.text, handling, 'note?': a.text })),
          }),
        ),
      }),
    ),
  },
};
