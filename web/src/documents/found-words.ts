import type { FoundBy } from '../conversations/conversation.ts';
import { texts } from './collection-texts.ts';

/** How a passage was found, for people. */
export function foundWords({ vector, keywords, reranked }: FoundBy): string[] {
  return [
    ...(vector ? [texts.found.vector(vector)] : []),
    ...(keywords ? [texts.found.keywords(keywords)] : []),
    ...(reranked === undefined || reranked === null ? [] : [texts.found.reranked(reranked)]),
  ];
}
