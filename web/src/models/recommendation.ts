import type { Recommendation } from '../../../src/core/models-view.ts';
import { read } from '../api/call.ts';

export type { Recommendation };
export type Purpose = Recommendation['purpose'];

/** Without an answer nothing is recommended: the search is there. */
export async function fetchRecommended(): Promise<readonly Recommendation[]> {
  try {
    return (await read<{ models: readonly Recommendation[] }>('api/admin/recommended', { background: true })).models;
  } catch {
    return [];
  }
}
