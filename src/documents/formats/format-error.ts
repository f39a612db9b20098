/** Why a file cannot be read, as the end of a sentence: "it is damaged". */
export class FormatError extends Error {
  override readonly name: string = 'FormatError';

  constructor(
    reason: string,
    readonly kind: 'unsupported' | 'invalid' = 'invalid',
  ) {
    super(reason);
  }
}
