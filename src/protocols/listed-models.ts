import { findNamed, modelId } from '../core/model-names.ts';
import type { ListedModel } from '../core/models-view.ts';
import type { DialectParts } from './dialect.ts';

export type ListedParts = Pick<DialectParts, 'text' | 'modelName' | 'models'>;

/** A model of the list under the id by which a request asks for it. */
export interface NamedModel extends ListedModel {
  readonly id: string;
  /** Whether it answers whoever names none. */
  readonly present: boolean;
}

/** All models that can be asked for by name, the present one first; undefined where names choose nothing. */
export async function modelsByName({
  text,
  modelName,
  models,
}: ListedParts): Promise<readonly NamedModel[] | undefined> {
  if (!models?.byName) return undefined;
  const listed = await models.list();
  const state = text.state();
  return listed.map((model, place) => {
    const present = place === 0 && state.type !== 'none';
    // One that failed has no name any more as far as the server is concerned; in a list it needs its own.
    const own = present && state.type !== 'failed' ? modelName() : undefined;
    return { ...model, id: own ?? modelId(model.name), present };
  });
}

export function findModel(models: readonly NamedModel[], asked: string): NamedModel | undefined {
  return findNamed(models, ({ id, name }) => [id, name], asked);
}
