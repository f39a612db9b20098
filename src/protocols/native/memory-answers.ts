import * as a from '../answers.ts';

const memory = a.named(
  'Memory',
  a.object({
    id: a.text,
    text: a.text,
    character: a.orNull(a.text),
    pinned: a.flag,
    created_at: a.count,
    changed_at: a.count,
  }),
);
const memories = a.json(a.object({ memories: a.list(memory) }));

export const memoryAnswers: a.DialectAnswers = {
  errors: {},
  answers: {
    'GET /api/extra/memories': memories,
    'POST /api/extra/memories': a.json(memory),
    'POST /api/extra/memories/search': memories,
    'POST /api/extra/memories/suggest': a.json(a.object({ suggestions: a.list(a.text) })),
    'POST /api/extra/memories/{id}': a.json(memory),
    'DELETE /api/extra/memories/{id}': a.json(a.object({ deleted: a.words(true) })),
  },
};
