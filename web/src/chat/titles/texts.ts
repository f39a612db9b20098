export const texts = {
  /** For the model. */
  request: `Write a title for this conversation in its language: at most 6 words, no quotes, no explanation. Answer with the title only.`,
} as const;
