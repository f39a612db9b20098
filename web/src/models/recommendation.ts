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

/** Those that answer in a chat. */
export const chatPurposes: readonly Purpose[] = ['chat', 'code', 'stories', 'vision'];
