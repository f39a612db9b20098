import type { Recommendation } from '../../../src/core/models-view.ts';
import { translationOf } from '../languages/index.ts';

export const reasonKey = ({ purpose, name }: Pick<Recommendation, 'purpose' | 'name'>): string =>
  purpose + name.replace(/\W/g, '');

/** Why it is recommended, in the language of the page. */
export const reasonOf = (one: Recommendation): string => translationOf('reasons', reasonKey(one)) ?? one.why;
