import { read } from '../api/call.ts';

export type Purpose = 'chat' | 'code' | 'stories' | 'vision' | 'embeddings' | 'pictures' | 'speech';

/** A model of `GET /api/admin/recommended`. */
export interface Recommendation {
  readonly purpose: Purpose;
  readonly name: string;
  /** `owner/name:TAG` */
  readonly model: string | null;
  /** Words that find it on the hub. */
  readonly search: string | null;
  /** The pack that it is, or needs. */
  readonly pack: string | null;
  readonly bytes: number | null;
  readonly licence: string;
  readonly why: string;
}

export const texts = {
  title: 'Recommended for this computer',
  download: (size: string) => `Download (${size})`,
} as const;

/** Without an answer nothing is recommended: the search is there. */
export async function fetchRecommended(): Promise<readonly Recommendation[]> {
  try {
    return (await read<{ models: readonly Recommendation[] }>('api/admin/recommended', { background: true })).models;
  } catch {
    return [];
  }
}
