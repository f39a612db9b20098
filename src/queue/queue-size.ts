export interface QueueSettings {
  /** `--multiuser`: how many requests are taken in at once, the running one included. */
  readonly multiuser: number;
  readonly parallelRequests: number;
  /** A speech-to-text, image, text-to-speech or embeddings model is loaded beside the text model. */
  readonly taskModels: boolean;
}

/** How many requests are taken in at once, those that run included. */
export function queuePlaces({ multiuser, parallelRequests, taskModels }: QueueSettings): number {
  // What nobody chose never keeps a batch from being full.
  const usual = Math.max(10, parallelRequests);
  if (multiuser > 1) return multiuser;
  if (multiuser === 1) return usual;
  if (taskModels) return 2;
  return parallelRequests > 1 ? usual : 1;
}
