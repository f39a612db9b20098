import type { Turn } from '../../conversations/conversation.ts';

type Answer = Pick<Turn, 'id' | 'role' | 'text' | 'model' | 'drawn' | 'calls'>;

/** The replies that another model wrote than the reply before, by turn id with the name of that model. */
export function modelChanges(path: readonly Answer[]): ReadonlyMap<string, string> {
  const changes = new Map<string, string>();
  let before: string | undefined;
  for (const turn of path) {
    const model = modelOf(turn);
    if (model === undefined) continue;
    if (before !== undefined && before !== model) changes.set(turn.id, model);
    before = model;
  }
  return changes;
}

/** The model that answered last; undefined if none has. */
export function lastModel(path: readonly Answer[]): string | undefined {
  return path.map(modelOf).findLast((model) => model !== undefined);
}

/** Failed replies and images are no answers of the model. */
function modelOf({ role, text, model, drawn, calls = [] }: Answer): string | undefined {
  const isAnswer = role === 'assistant' && drawn === undefined && (text !== '' || calls.length > 0);
  return isAnswer && model !== '' ? model : undefined;
}
