export interface QueueSettings {
  /** `--multiuser`: how many requests are accepted at once, the running one included. */
  readonly multiuser: number;
  readonly parallelRequests: number;
  /** A speech-to-text, image, text-to-speech or embeddings model is loaded beside the text model. */
  readonly otherModels: boolean;
}

/** How many requests may wait behind the running ones. */
export function waitingPlaces({ multiuser, parallelRequests, otherModels }: QueueSettings): number {
  if (multiuser > 1) return multiuser - 1;
  if (multiuser === 1) return 9;
  if (otherModels) return 1;
  return parallelRequests > 1 ? 9 : 0;
}
