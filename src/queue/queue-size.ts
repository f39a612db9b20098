export interface QueueSettings {
  /** `--multiuser`: how many requests are accepted at once, including the running one. */
  readonly multiuser: number;
  readonly parallelRequests: number;
  /** A speech-to-text, image, text-to-speech or embeddings model is loaded beside the text model. */
  readonly taskModels: boolean;
}

/** How many requests are accepted at once, including running ones. */
export function queuePlaces({ multiuser, parallelRequests, taskModels }: QueueSettings): number {
  // The default never limits the batch size.
  const usual = Math.max(10, parallelRequests);
  if (multiuser > 1) return multiuser;
  if (multiuser === 1) return usual;
  if (taskModels) return 2;
  return parallelRequests > 1 ? usual : 1;
}
