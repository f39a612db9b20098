/** A file that is no GGUF file or a damaged one. The message is one sentence for people, without the path. */
export class GgufError extends Error {
  override readonly name = 'GgufError';
}
