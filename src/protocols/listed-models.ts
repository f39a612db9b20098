import { findExactly, findNamed } from '../core/model-names.ts';
import type { ListedModel } from '../core/models-view.ts';
import type { DialectParts } from './dialect.ts';

/** All models that can be asked for by name, the present one first; undefined where names choose nothing. */
export async function modelsByName({
  models,
}: Pick<DialectParts, 'models'>): Promise<readonly ListedModel[] | undefined> {
  return models?.byName ? models.list() : undefined;
}

/** A model's own name goes before an alias, and an alias before a name that is only similar. */
export function findModel(
  models: readonly ListedModel[],
  asked: string,
  alias?: DialectParts['alias'],
): ListedModel | undefined {
  const namesOf = ({ id, name, aliases = [] }: ListedModel) => [id, name, ...aliases];
  return findExactly(models, namesOf, asked) ?? findNamed(models, namesOf, alias?.(asked) ?? asked);
}
