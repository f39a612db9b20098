/** A part of a recording: as many samples in each channel, between -1 and 1. */
export interface SoundPiece {
  readonly channels: readonly Float32Array[];
  /** Samples a second. */
  readonly rate: number;
}

/** The rate may change from piece to piece: files are put one behind the other. */
export type SoundPieces = AsyncIterable<SoundPiece> | Iterable<SoundPiece>;
